"""Is one commit as fast as another? Both run side by side and take turns, round by round, so that noise hits both.

A machine that others share is four times as fast in one minute as in the next. Two runs, one after the other, say
nothing; the ratio of two neighbouring rounds does. The verdict is by the median of these ratios, and its noise is the
range of the middle half.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO, cast

import numpy as np
import pyarrow.parquet as pq

from benchmarks.matching import Advance, Workload, silent
from tidings.model import DataError

CHECKOUT = Path(__file__).parents[1]
WORKING_TREE = "."
AS_FAST = 0.97
"""What counts as no slower."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast the new commit is: the middle of all rounds, and of the middle half the ends."""

    old_s: float
    new_s: float
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, old_s: Sequence[float], new_s: Sequence[float]) -> Ratio:
        """
        >>> ratio = Ratio.of([2.0, 4.0, 2.0], [1.0, 2.0, 2.0])
        >>> ratio.median, ratio.verdict
        (2.0, 'faster')
        """
        low, median, high = np.quantile(np.array(old_s) / np.array(new_s), [0.25, 0.5, 0.75]).tolist()
        return cls(min(old_s), min(new_s), median, low, high)

    @property
    def verdict(self) -> str:
        if self.median < AS_FAST:
            return "slower" if self.high < 1 else "slower, or noise"
        return "faster" if self.low > 1 else "as fast"


def compared(
    figure: str, workload: Workload, commits: tuple[str, str], rounds: int, advance: Advance = silent
) -> dict[str, Any]:
    """One figure of two commits, ``.`` for the files as they are, on the same subscriptions and posts."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="tidings-compare-")))
        for name, table in (("asked", workload.subscriptions), ("sample", workload.sample), ("posts", workload.posts)):
            pq.write_table(table, folder / f"{name}.parquet")
        old, new = (stack.enter_context(_runner(commit, figure, folder)) for commit in commits)
        seconds: tuple[list[float], list[float]] = ([], [])
        for number in range(rounds):
            for side in (0, 1) if number % 2 else (1, 0):
                seconds[side].append((old, new)[side].once())
            advance(1)
    ratio = Ratio.of(*seconds)
    return {
        "old_s": round(ratio.old_s, 4),
        "new_s": round(ratio.new_s, 4),
        "ratio": round(ratio.median, 3),
        "from": round(ratio.low, 3),
        "to": round(ratio.high, 3),
        "verdict": ratio.verdict,
    }


@dataclass(frozen=True, slots=True)
class _Runner:
    """A process that runs a round when it is told to."""

    process: subprocess.Popen[str]

    def once(self) -> float:
        cast("TextIO", self.process.stdin).write("\n")
        cast("TextIO", self.process.stdin).flush()
        return float(self.answer())

    def answer(self) -> str:
        line = cast("TextIO", self.process.stdout).readline().strip()
        if not line:
            raise DataError(f"a commit cannot be measured: its process ended with {self.process.wait()}; see above why")
        return line


@contextmanager
def _runner(commit: str, figure: str, folder: Path) -> Iterator[_Runner]:
    with _sources(commit) as sources:
        command = [sys.executable, str(Path(__file__).with_name("seams.py")), figure, str(folder)]
        environment = {**os.environ, "PYTHONPATH": str(sources)}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            runner = _Runner(process)
            if (answer := runner.answer()) != "ready":
                raise DataError(f"a commit cannot be measured: it said {answer!r} where 'ready' was expected")
            try:
                yield runner
            finally:
                cast("TextIO", process.stdin).close()


@contextmanager
def _sources(commit: str) -> Iterator[Path]:
    """The folder ``src`` of a commit."""
    if commit == WORKING_TREE:
        yield CHECKOUT / "src"
        return
    with TemporaryDirectory(prefix="tidings-commit-") as folder:
        try:
            _git("worktree", "add", "--detach", "--force", folder, commit)
        except subprocess.CalledProcessError as error:
            raise DataError(f"there is no commit {commit!r}: {error.stderr.strip()}") from None
        try:
            yield Path(folder) / "src"
        finally:
            _git("worktree", "remove", "--force", folder)
            Path(folder).mkdir(exist_ok=True)  # its owner wants to remove it


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=CHECKOUT, check=True, capture_output=True, text=True)
