import sys
from collections import deque
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks import churn, latency, opening
from benchmarks.matching import Workload
from benchmarks.names import Name
from benchmarks.workloads import workload
from tidings.engine import Engine
from tidings.model import DataError, Match


@pytest.fixture(scope="module")
def made() -> Workload:
    return workload(Name.words, None, subscriptions=300, posts=400, seed=2, made_up_rows=3_000)


@pytest.fixture(scope="module")
def newcomers() -> pa.ChunkedArray:
    return workload(Name.words, None, subscriptions=50, posts=10, seed=3, made_up_rows=3_000).subscriptions["query"]


def test_a_folder_opens_in_new_processes_as_it_was_left(made: Workload, tmp_path: Path) -> None:
    steps: list[int] = []
    figures = opening.measure(made, tmp_path, rounds=1, advance=steps.append)
    assert figures["subscriptions"] == 300 and steps == [1, 1]
    assert 0 < figures["index_open_ms"] < figures["index_process_ms"] and figures["engine_again_ms"] > 0


def test_a_folder_that_lacks_something_fails_the_run(
    made: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(*_: object) -> dict[str, float]:
        return {"open_s": 1, "first_post_s": 1, "again_s": 1, "matches": 0, "subscriptions": 299}

    monkeypatch.setattr(opening, "_in_a_new_process", forgetful)
    with pytest.raises(DataError, match="other subscriptions"):
        opening.measure(made, tmp_path, rounds=1)


def test_both_ends_of_a_post_are_timed_on_as_many_posts(made: Workload) -> None:
    steps: list[int] = []
    figures = latency.measure(made, steps.append)
    assert sum(steps) == made.round_posts and figures["posts_each"] == 200
    for name in ("found", "published"):
        assert 0 < figures[f"{name}_median_us"] <= figures[f"{name}_p90_us"] <= figures[f"{name}_p99_us"]


def test_a_lost_match_of_a_single_post_fails_the_run(made: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Engine.publish

    def forgetful(self: Engine, **post: str) -> list[Match]:
        return honest(self, **post)[1:]  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "publish", forgetful)
    with pytest.raises(DataError, match="one at a time"):
        latency.measure(made)


@pytest.mark.parametrize("batch", [1, 20])
def test_subscriptions_turn_over_while_posts_are_published(
    made: Workload, newcomers: pa.ChunkedArray, tmp_path: Path, batch: int
) -> None:
    steps: list[int] = []
    settings = churn.Settings(rounds=1, round_s=0.2, rate_per_s=2_000, batch=batch, switch_interval_ms=batch)
    before = sys.getswitchinterval()
    figures = churn.measure(made, newcomers, settings, tmp_path if batch > 1 else None, steps.append)
    assert figures["subscriptions"] == 300 and steps == [1, 1]
    assert figures["subscribed_per_s"] > 0 < figures["alone_posts_per_s"]
    assert figures["in_a_folder"] is (batch > 1)
    assert figures["switch_interval_ms"] == batch and sys.getswitchinterval() == before


def test_changes_keep_their_number_and_say_what_is_left(made: Workload, newcomers: pa.ChunkedArray) -> None:
    engine = Engine()
    engine.subscribe_many(made.subscriptions)
    asked = newcomers.to_pylist()
    changes = churn.Changes(
        engine, made.subscriptions, asked, churn.Settings(), ids=deque(made.subscriptions["id"].to_pylist())
    )
    for _ in range(310):
        changes._one()
    left = changes.left().to_pylist()
    assert len(left) == len(engine) == 300
    assert left[0] == {"id": "new10", "query": asked[10]} and left[-1] == {"id": "new309", "query": asked[309 % 50]}
    assert "new9" not in engine and "new309" in engine and "s0" not in engine


def test_a_change_that_is_lost_fails_the_run(
    made: Workload, newcomers: pa.ChunkedArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "unsubscribe", lambda *_: True)
    with pytest.raises(DataError, match="than a new one"):
        churn.measure(made, newcomers, churn.Settings(rounds=1, round_s=0.05, rate_per_s=500))
