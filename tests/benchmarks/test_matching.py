import pyarrow as pa
import pytest

from benchmarks import gi2
from benchmarks.matching import Workload, measure
from benchmarks.names import Name
from benchmarks.workloads import workload
from tidings.index import GI2, GuardIndex
from tidings.language import parse
from tidings.model import DataError
from tidings.tables.matches import Counters, Matches


@pytest.mark.parametrize("name", list(Name))
def test_each_workload_asks_what_it_says_and_is_measured(name: Name) -> None:
    made = workload(name, None, subscriptions=60, posts=300, seed=2, made_up_rows=3_000)
    assert made.subscriptions.num_rows == 60 and made.posts.num_rows == 300
    assert all(parse(query) for query in made.subscriptions["query"].to_pylist())
    steps: list[int] = []
    figures = measure(made, rounds=2, advance=steps.append)
    assert sum(steps) == 2 * made.round_posts == 2 * 600
    assert figures["posts"] == 300 and figures["rounds"] == 2 and figures["subscriptions"] == 60
    assert figures["posts_per_s"] >= figures["posts_per_s_median"] > 0 < figures["first_pass_posts_per_s"]


def test_what_is_matched_was_not_what_subscriptions_came_from() -> None:
    made = workload(Name.words, None, subscriptions=10, posts=500, seed=2, made_up_rows=3_000)
    parts = [set(part["id"].to_pylist()) for part in (made.sample, made.posts, made.others)]
    assert len(set().union(*parts)) == sum(map(len, parts)) and len(parts[1]) == len(parts[2]) == 500
    with pytest.raises(DataError, match="too few"):
        workload(Name.words, None, subscriptions=10, posts=3_000, seed=2, made_up_rows=3_000)


def test_each_round_begins_without_knowing_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    made = workload(Name.words, None, subscriptions=20, posts=50, seed=2, made_up_rows=3_000)
    threads: list[int] = []
    honest = GuardIndex.count

    def watched(self: GuardIndex, table: pa.Table) -> Counters:
        threads.append(id(self._readers.local.__dict__.get("scratch")))
        return honest(self, table)

    monkeypatch.setattr(GuardIndex, "count", watched)
    measure(made, rounds=2)
    unknown = id(None)
    assert [thread == unknown for thread in threads] == [True, False, True, False]


def test_a_wrong_index_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = GuardIndex.match

    def forgetful(self: GuardIndex, table: pa.Table) -> Matches:
        found = honest(self, table)
        return Matches((part.taken(slice(1, None)) for part in found.parts), found.counters)

    monkeypatch.setattr(GuardIndex, "match", forgetful)
    asked = pa.table({"id": ["s"], "query": ["fire"]})
    posts = pa.table({"id": ["a", "b"], "text": ["fire", "fire"]})
    with pytest.raises(DataError, match="differ"):
        measure(Workload("made up", asked, posts, posts, posts))


def test_gi2_is_measured_beside_the_index_and_a_difference_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made = workload(Name.q1, None, subscriptions=60, posts=300, seed=2, made_up_rows=3_000)
    figures = gi2.measure(made, rounds=2)
    assert figures["ratio"] > 0 < figures["ratio_changing"] and figures["gi2_candidates_per_post"] >= 0
    monkeypatch.setattr(GI2, "add_table", lambda self, table: None)
    with pytest.raises(DataError, match="differ"):
        gi2.measure(workload(Name.squares, None, subscriptions=60, posts=300, seed=2, made_up_rows=3_000), rounds=1)
