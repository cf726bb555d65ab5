"""Are the figures of a registry that is written to again and again as many as they should be?"""

from pathlib import Path

import pytest

from benchmarks import commits
from benchmarks.commits import Settings
from tidings.model import DataError
from tidings.registry import Registry


def test_each_block_of_commits_is_a_row_and_the_registry_has_what_was_written(tmp_path: Path) -> None:
    told: list[int] = []
    figures = commits.measure(tmp_path / "registry", Settings(commits=40, live=3, block=4), told.append)
    assert figures["commits_so_far"] == list(range(4, 44, 4)) and told == [4] * 10
    assert all(len(figures[name]) == 10 for name in ("ms", "p99_ms", "cpu_ms", "size_bytes", "files", "snapshot_ms"))
    assert Registry(tmp_path / "registry").snapshot()["query"].to_pylist() == [f"fire smoke{n}" for n in (37, 38, 39)]
    commits.draw(figures, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").count("<svg") == 1


def test_what_is_interrupted_has_the_blocks_that_were_done(tmp_path: Path) -> None:
    done: list[int] = []

    def interrupt(count: int) -> None:
        done.append(count)
        if len(done) == 12:
            raise KeyboardInterrupt

    figures = commits.measure(tmp_path / "registry", Settings(commits=60, live=3, block=2), interrupt)
    assert figures["commits"] == 24


def test_too_few_commits_are_refused() -> None:
    with pytest.raises(DataError, match="ten blocks"):
        Settings(commits=99, block=10)
