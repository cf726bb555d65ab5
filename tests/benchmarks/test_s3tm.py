from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.__main__ import main
from benchmarks.names import Model, S3tmFigure, Sent, Source
from benchmarks.s3tm import FIGURES, Asking, Corpus, Plan, draw, on_spark
from benchmarks.s3tm.corpus import folds
from benchmarks.s3tm.on_spark import Run, beside, check
from benchmarks.s3tm.trials import METHODS, beside_salb, trial
from benchmarks.s3tm.weeks import RELEARNED
from tidings.analysis import ENGLISH
from tidings.analysis.vocabulary import TermSets
from tidings.cluster import place
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.partitioning.learning import Incidence, Quality, measure
from tidings.placement import fitted
from tidings.terms.dictionary import Dictionary
from tidings.workloads import tweet_based

PLAN = Plan(
    learn=300, folds=4, measured=3, networks=1, subscriptions=200, most=100, matchers=(2, 8), placed=(4,), seed=3
)


@pytest.fixture(scope="module")
def asking() -> Asking:
    return Asking(Corpus.read(None, 800, seed=3), 3, topic_posts=100)


def rows_of(incidence: Incidence) -> list[set[str]]:
    names = incidence.names.to_pylist()
    return [{names[word] for word in incidence.sets.row(row)} for row in range(len(incidence.sets))]


@pytest.mark.parametrize("sent", Sent)
def test_posts_are_sent_for_what_the_router_sends_them_for(asking: Asking, sent: Sent) -> None:
    incidence = asking.incidence(Model.tweets, 200, sent)
    table = asking.corpus.table
    placement = place(asking.subscriptions(Model.tweets, 200), Mapping.hashed(16), asking.sample(), routing=sent.value)
    sizes = placement.router.route(table).sizes()
    assert measure(Mapping.hashed(16), incidence).spread == sizes.mean() > 0
    terms = Dictionary()
    for name in incidence.names.to_pylist():
        terms.word(name)
    expected = Incidence.of(table, terms)
    assert rows_of(incidence) == rows_of(expected) and np.array_equal(incidence.keys, expected.keys)
    assert incidence.filed is None if sent == Sent.words else incidence.filed is not None
    if incidence.filed is not None:
        assert incidence.filed.sum() == 200 and incidence.filed.min() > 0


def test_a_short_post_has_some_words_of_its_own(asking: Asking) -> None:
    corpus = asking.corpus
    short = corpus.shortened(4, seed=1)
    pairs = [(short.sets.row(row), corpus.sets.row(row)) for row in range(len(corpus))]
    assert all(len(few) == min(4, len(own)) and set(few.tolist()) <= set(own.tolist()) for few, own in pairs)
    assert any(few.tolist() != own[:4].tolist() for few, own in pairs)


def test_posts_that_are_measured_are_not_those_that_are_subscribed_to(asking: Asking) -> None:
    """As the same seed draws both: by chance alone, a quarter of 200 posts are among the first 200 of 800."""
    texts = asking.corpus.table["text"]
    asked = set(asking.subscriptions(Model.tweets, 200)["query"].to_pylist())
    for use in (1, 2, 3):
        posts = texts.take(pa.array(asking.corpus.drawn(asking.seed, use)[:200]))
        same = tweet_based(posts, 200, 1, ENGLISH)["query"].to_pylist()
        assert len(asked & set(same)) < 100


def test_of_notes_those_that_a_person_opened_are_the_corpus(tmp_path: Path) -> None:
    rows = [(1, "opened", "none"), (2, "closed", "none"), (3, "opened", "an app"), (4, "opened", "none")]
    columns: dict[str, object] = {
        "id": [row[0] for row in rows],
        "ts": pa.array([0, 1, 2, 3], pa.timestamp("us", tz="UTC")),
        "lat": [0.5] * 4,
        "lon": [0.5] * 4,
        "text": ["no road", "done", "hello", "road closed"],
        "kind": [row[1] for row in rows],
        "country": ["x"] * 4,
        "app": [row[2] for row in rows],
    }
    pq.write_table(pa.table(columns), tmp_path / "notes.parquet")
    corpus = Corpus.read(tmp_path, None, 1, Source.notes)
    assert corpus.table["id"].to_pylist() == ["1", "4"] and corpus.table.column_names == ["id", "ts", "text"]
    with pytest.raises(DataError, match=r"no file .*tweets.parquet"):
        Corpus.read(tmp_path, None, 1)


def test_folds_are_equally_large_and_need_posts() -> None:
    numbers = folds(103, 10, seed=2)
    assert sorted(np.bincount(numbers)) == [10] * 7 + [11] * 3
    for count in (1, 104):
        with pytest.raises(DataError, match="at least 2 folds"):
            folds(103, count, seed=2)


def test_all_folds_together_are_all_posts_each_held_out_once(asking: Asking) -> None:
    incidence = asking.incidence(Model.tweets, 200)
    found = trial(incidence, "hash", 8, replace(PLAN, measured=4))
    assert found["folds"] == 4
    assert found["spread"] == pytest.approx(measure(Mapping.hashed(8), incidence).spread, abs=0.001)
    assert found["bound"] == pytest.approx(8 / found["spread"], abs=0.001)


def test_a_mapping_is_measured_with_posts_that_it_was_not_learned_from() -> None:
    """Every post has a word of its own, so nothing can be learned about posts that are held out: SALB hashes them."""
    corpus = Corpus.read(None, 50, seed=1)
    own = replace(corpus, sets=TermSets(np.arange(51), np.arange(50, dtype=np.int32)))
    incidence = own.incidence(own.names)
    found = [trial(incidence, method, 4, replace(PLAN, folds=5, measured=5)) for method in ("SALB", "hash")]
    assert found[0]["throughput"] == found[1]["throughput"] and found[0]["spread"] == 1.0


def test_relative_is_by_salb_of_the_same_labels() -> None:
    rows = [
        {"partitioner": name, "matchers": n, "throughput": value}
        for name, n, value in (("SALB", 2, 2.0), ("hash", 2, 1.0), ("SALB", 4, 4.0), ("hash", 4, 3.0))
    ]
    assert [row["relative"] for row in beside_salb(rows, "matchers")] == [1.0, 0.5, 1.0, 0.75]


def test_every_partitioner_is_measured_for_every_number_of_matchers(asking: Asking) -> None:
    pytest.importorskip("tomotopy")
    pytest.importorskip("pymetis")
    found = FIGURES[S3tmFigure.matchers](asking, PLAN)
    labels = set(zip(found["model"], found["partitioner"], found["matchers"], strict=True))
    assert labels == {(m, p, n) for m in ("tweets", "topics", "short") for p in METHODS for n in (2, 8)}
    assert len(labels) == len(found["model"])
    assert all(t <= bound + 0.01 for t, bound in zip(found["throughput"], found["bound"], strict=True))
    one_fold = {name for name, count in zip(found["partitioner"], found["folds"], strict=True) if count == 1}
    assert one_fold == {"gC", "gFC", "gFCL", "gNFCL"} and max(found["folds"]) == 3


def test_weeks_begin_with_what_was_learned_from(asking: Asking) -> None:
    pytest.importorskip("tomotopy")
    pytest.importorskip("pymetis")
    found = FIGURES[S3tmFigure.weeks](asking, PLAN)
    assert sorted(set(found["weeks"])) == [0, 10, 20, 30, 40, 50]
    cells = zip(found["model"], found["partitioner"], found["weeks"], found["throughput"], strict=True)
    by = {(model, name, week): value for model, name, week, value in cells}
    assert len(by) == len(found["weeks"]) == 2 * 6 * 6
    assert all(by[model, RELEARNED, week] == by[model, "SALB", week] for model in Model for week in (0, 10))
    assert any(by[model, RELEARNED, 20] != by[model, "SALB", 20] for model in Model)


def test_the_words_of_a_corpus_are_counted(asking: Asking) -> None:
    found = FIGURES[S3tmFigure.words](asking, PLAN)
    sets = [frozenset(asking.corpus.sets.row(row).tolist()) for row in range(800)]
    pairs = {(v, w) for words in sets for v in words for w in words if v < w}
    assert found["pairs"] == len(pairs) and found["occurrences"] == sum(map(len, sets))
    assert found["frequency"][0] == max(sum(word in words for words in sets) for word in set().union(*sets))


def test_placers_place_the_same_subscriptions(asking: Asking) -> None:
    pytest.importorskip("tomotopy")
    found = FIGURES[S3tmFigure.placement](asking, PLAN)
    assert found["placer"] == ["random", "LASP", "LASP from 0", "rarest"] * 2
    assert set(found["subscriptions_in_all"]) == {200.0}  # nothing is split: each lives at one matcher
    assert all(most > 0 for most in found["most_operations"])


def test_the_cost_of_a_matcher_is_the_line_that_placement_uses(asking: Asking) -> None:
    pytest.importorskip("tomotopy")
    found = FIGURES[S3tmFigure.cost](asking, replace(PLAN, subscriptions=400))
    assert found["model"] == ["tweets", "tweets", "topics", "topics"] and found["subscriptions"] == [40, 400] * 2
    posts = asking.corpus.table.take(pa.array(asking.corpus.drawn(3, 2)[: found["posts"]]))
    line = fitted(asking.subscriptions(Model.tweets, 40), posts)
    assert (found["slope"][0], found["intercept"][0]) == (round(line.slope, 6), round(line.intercept, 3))
    assert all(few < many for few, many in zip(found["words"][0], found["words"][0][1:], strict=False))
    assert max(found["fit"]) <= 1


def test_both_readings_of_salb_are_measured_alike(asking: Asking) -> None:
    found = FIGURES[S3tmFigure.readings](asking, replace(PLAN, measured=1))
    labels = list(zip(found["sent_for"], found["matchers"], found["split"], found["partitioner"], strict=True))
    assert {label[:3] for label in labels if label[3] == "SALB"} == {
        label[:3] for label in labels if label[3] == "SALB listing"
    }
    assert len(labels) == len(set(labels)) == 20


def test_the_command_writes_figures_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pymetis")
    words = "--posts 600 --learn 200 --folds 3 --measured 1 --subscriptions 50 --format csv".split()
    out = [word for name in ("save", "plot") for word in (f"--{name}", str(tmp_path / "new"))]
    monkeypatch.setattr(sys, "argv", ["benchmarks", "s3tm", "words", "learning", "headline", *words, *out])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert not leaving.value.code and "sent_for" in capsys.readouterr().out
    names = ("headline", "learning", "words")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        f"s3tm-{name}.{kind}" for name in names for kind in ("json", "svg")
    )
    for name in names:
        record = json.loads((tmp_path / "new" / f"s3tm-{name}.json").read_text(encoding="utf-8"))
        again = tmp_path / f"{name}.svg"
        draw(S3tmFigure(name), record["figures"], again)
        assert again.read_bytes() == (tmp_path / "new" / f"s3tm-{name}.svg").read_bytes()
    figures = json.loads((tmp_path / "new" / "s3tm-headline.json").read_text(encoding="utf-8"))["figures"]
    assert set(figures["learned"]) == {400} and set(figures["sent_for"]) == {"words", "guards"}


def test_what_spark_did_is_told_beside_what_was_predicted() -> None:
    qualities = Quality(10, np.array([5, 4])), Quality(100, np.array([60, 30]))
    row = beside(*qualities, np.array([6.0, 2.0]), alone_ms=12.0)
    assert (row["predicted_spread"], row["spread"], row["posts_shuffled"]) == (0.9, 0.9, 90)
    assert (row["predicted_throughput"], row["throughput"], row["time_throughput"]) == (2.0, 1.667, 2.0)
    assert (row["predicted_imbalance"], row["imbalance"], row["time_imbalance"]) == (1.111, 1.333, 1.5)


def test_other_matches_and_posts_that_went_elsewhere_fail_the_run() -> None:
    found, ms = np.array([60, 30]), np.array([6.0, 2.0])
    whole = Run(np.array([100]), np.array([9]), ms[:1], 7, "12")
    check(("SALB", 2), Run(found, found, ms, 7, "12"), whole, Quality(100, found))
    for matches, checksum in ((8, "12"), (7, "13")):
        with pytest.raises(DataError, match="SALB, 2 matchers: other matches"):
            check(("SALB", 2), Run(found, found, ms, matches, checksum), whole, Quality(100, found))
    with pytest.raises(DataError, match="posts went elsewhere"):
        check(("SALB", 2), Run(found, found, ms, 7, "12"), whole, Quality(100, found[::-1]))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_spark_matches_alike_by_every_mapping_and_shuffles_what_was_measured(
    asking: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PASSES": 1, "ROUNDS": 1, "TIMED": 100}.items():
        monkeypatch.setattr(on_spark, name, value)
    found = FIGURES[S3tmFigure.spark](asking, replace(PLAN, on_spark=(3,)))
    assert found["partitioner"] == ["hash", "hash", "SALB", "refined", "refined split"]
    assert found["matchers"] == [1, 3, 3, 3, 3] and found["posts"] == 266 and found["matches"] > 0
    assert set(found["checksum"]) == {found["replicated_checksum"]}
    assert [round(266 * spread) for spread in found["spread"]] == found["posts_shuffled"]
    assert all(0 < ms <= slowest for ms, slowest in zip(found["mean_ms"], found["slowest_ms"], strict=True))
    draw(S3tmFigure.spark, found, tmp_path / "spark.svg")
    assert (tmp_path / "spark.svg").stat().st_size > 1_000
