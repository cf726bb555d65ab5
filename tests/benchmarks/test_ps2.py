"""Is the bound of the load one, and do the figures of [PS2] come out of a small run?"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.ps2 import kernels
from benchmarks.ps2.__main__ import app
from benchmarks.ps2.bound import least_load
from benchmarks.ps2.corpus import read_notes
from benchmarks.ps2.in_process import router_of
from tests.examples import examples
from tests.partitioning.hybrid.test_ps2_partitioners import PARTITIONERS
from tests.partitioning.hybrid.toys import COSTS, workload, workloads
from tidings.cluster import Cluster
from tidings.model import DataError
from tidings.partitioning.hybrid import Workload, measure
from tidings.partitioning.load import LoadCosts

runner = CliRunner()


def flat(sets: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.concatenate([[0], np.cumsum([len(own) for own in sets], dtype=np.int64)])
    return ends, np.array([q for own in sets for q in own], dtype=np.int32)


def by_trying(sets: list[list[int]], a: int, b: int) -> int:
    """The most that any set of posts can be given, by Hall's theorem of flows: the least cut."""
    posts, queries = range(len(sets)), {q for own in sets for q in own}
    cuts = []
    for size in range(len(sets) + 1):
        for kept in combinations(posts, size):
            reached = {q for i in kept for q in sets[i]}
            cuts.append(a * (len(sets) - size) + b * len(reached))
    return min(*cuts, b * len(queries)) if cuts else 0


@given(
    st.lists(st.lists(st.integers(0, 5), unique=True, max_size=4), min_size=1, max_size=7),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2, 3]),
)
def test_a_largest_set_of_pairs_is_as_large_as_the_least_cut(sets: list[list[int]], a: int, b: int) -> None:
    assert kernels.matching(*flat(sets), 6, a, b) == by_trying(sets, a, b)


def test_the_bound_of_equal_parts_that_never_meet_is_reached() -> None:
    posts = [(x + 0.5, 1.0, "a") for x in range(8)]
    work = workload(posts, [[("a", (p[0], p[1], p[0], p[1]))] for p in posts])
    bound = least_load(work, COSTS, 4)
    assert bound.pairs == bound.posts == 8
    assert bound.load == pytest.approx(float(COSTS.load(2, 2, 0)))  # two posts and two queries at each of four
    assert bound.load == pytest.approx(measure(PARTITIONERS["kd-tree"](work, 4).mapping(), work).loads(COSTS).max())


def test_a_post_and_all_that_ask_for_one_word_of_it_cannot_be_divided() -> None:
    work = workload([(1, 1, "a")], [[("a", (0.0, 0.0, 8.0, 8.0))]] * 9)
    free = LoadCosts(pair=1, post=0, insertion=0, deletion=0)
    assert least_load(work, free, 8).load == least_load(work, free, 8).indivisible == 9


@examples(25)
@given(work=workloads(), matchers=st.sampled_from([1, 2, 5]))
def test_no_partitioner_is_below_the_bound(work: Workload, matchers: int) -> None:
    bound = least_load(work, COSTS, matchers).load
    for name, leaves in PARTITIONERS.items():
        if name != "hypergraph":
            assert measure(leaves(work, matchers).mapping(), work).loads(COSTS).max() >= bound * (1 - 1e-9)


def notes(folder: Path, rows: int = 900) -> Path:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["fire", "smoke", "rain", "road", "shop", "park"], 5)) for _ in range(rows)]
    table = pa.table(
        {
            "id": np.arange(rows),
            "lat": rng.uniform(-60, 60, rows),
            "lon": rng.uniform(-170, 170, rows),
            "text": texts,
            "kind": ["opened"] * rows,
            "app": ["none"] * rows,
        }
    )
    pq.write_table(table, folder / "notes.parquet")
    return folder


def test_notes_are_cut_joined_and_scaled(tmp_path: Path) -> None:
    folder = notes(tmp_path)
    own, short, long = (read_notes(folder, 100, 1, "city", length) for length in ("own", "short", "long"))
    assert abs(own["lon"].to_numpy()).max() < 0.225
    assert [len(table["text"][0].as_py().split()) for table in (short, own, long)] == [4, 5, 15]
    assert short.num_rows == own.num_rows == long.num_rows == 100
    with pytest.raises(DataError, match="900 notes"):
        read_notes(folder, 301, 1, "world", "long")


def test_a_small_sweep_has_a_row_for_each_partitioner_and_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("pymetis")
    saved, drawn = tmp_path / "sweep.json", tmp_path / "sweep.svg"
    command = [
        "hybrid",
        "--data",
        str(notes(tmp_path)),
        "--posts",
        "200",
        "--standing",
        "50",
        "--others",
        "20",
        "--map",
        "country",
    ]
    command += ["--length", "own", "--matchers", "3", "--save", str(saved), "--plot", str(drawn), "--format", "csv"]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    figures = json.loads(saved.read_text())["figures"]
    assert set(figures["queries"]) == {"q1", "q2", "q3"} and len(figures["partitioner"]) == 36
    assert min(figures["by_bound"]) >= 1 and drawn.exists()


@pytest.mark.spark
def test_partitioners_are_compared_on_spark(tmp_path: Path) -> None:
    saved = tmp_path / "spark.json"
    command = ["spark", "--data", str(notes(tmp_path)), "--posts", "200", "--standing", "90"]
    command += ["--matchers", "2", "--workload", "q3", "--passes", "1", "--save", str(saved), "--format", "csv"]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    figures = json.loads(saved.read_text())["figures"]
    assert figures["partitioner"] == ["metric", "metric, near", "kd-tree", "grid", "hybrid"]
    assert len(set(figures["matches"])) == 1 and min(figures["slowest_ms"]) > 0
    for rank in ("rank_expected", "rank_by_load", "rank_by_ms"):
        assert sorted(figures[rank]) == [1, 2, 3, 4, 5]


def test_throughput_grows_with_the_matchers_and_one_that_has_all_is_one(tmp_path: Path) -> None:
    saved = tmp_path / "scaling.json"
    command = [
        "scaling",
        "--data",
        str(notes(tmp_path)),
        "--posts",
        "200",
        "--standing",
        "50",
        "--others",
        "20",
        "--workload",
        "q3",
    ]
    command += ["--count", "1", "--count", "4", "--save", str(saved), "--format", "csv"]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    figures = json.loads(saved.read_text())["figures"]
    by = dict(zip(zip(figures["matchers"], figures["partitioner"], strict=True), figures["times_one"], strict=True))
    assert by[1, "metric"] == 1
    assert all(by[4, name] > by[1, name] >= 1 for name in ("metric", "metric, near", "kd-tree", "hybrid"))


def test_clusters_of_all_partitioners_find_the_same_and_tell_time_and_memory(tmp_path: Path) -> None:
    saved = tmp_path / "cluster.json"
    command = ["cluster", "--data", str(notes(tmp_path)), "--posts", "200", "--standing", "60"]
    command += ["--batches", "3", "--rows", "20", "--matchers", "3", "--workload", "q1", "--save", str(saved)]
    result = runner.invoke(app, [*command, "--format", "csv"])
    assert result.exit_code == 0, result.output
    figures = json.loads(saved.read_text())["figures"]
    assert figures["partitioner"] == ["metric", "metric, near", "kd-tree", "hybrid"]
    assert len(set(figures["matches"])) == 1 and figures["matches"][0] > 0
    for batch, routing, busy in zip(*(figures[f"{name}_ms"] for name in ("batch", "routing", "busiest")), strict=True):
        assert 0 < routing < batch and busy > 0
    assert min(figures["query_copies"]) >= 1 and max(figures["query_copies"]) <= 3
    assert all(
        0 < mean <= most for mean, most in zip(figures["matcher_mb"], figures["largest_matcher_mb"], strict=True)
    )


def test_the_router_of_nobody_is_asked_for_in_vain() -> None:
    with pytest.raises(DataError, match="nobody has subscribed"):
        router_of(Cluster(None))
