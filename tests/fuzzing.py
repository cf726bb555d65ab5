"""What do programs have in common that throw random input at something: the loop, what a run saw, and the report."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.result import Result

LIMIT_MS = 50.0
"""So much CPU time an input may take."""

_TOLD_EVERY = 20_000


@dataclass
class Seen:
    """What a run saw."""

    count: int
    seed: int
    accepted: int = 0
    refused: int = 0
    slowest_ms: float = 0.0
    over_limit: int = 0
    failures: list[str] = field(default_factory=list)

    def took(self, spent_ms: float) -> bool:
        """Count the time of an input; whether none took longer."""
        self.over_limit += spent_ms > LIMIT_MS
        is_slowest = spent_ms > self.slowest_ms
        self.slowest_ms = max(self.slowest_ms, round(spent_ms, 3))
        return is_slowest


def throw(seen: Seen, one: Callable[[int, random.Random], object], progress: bool) -> None:
    """Let ``one`` try as many inputs as the run has, by their numbers."""
    rng = random.Random(seen.seed)
    for number in range(seen.count):
        one(number, rng)
        if progress and number % _TOLD_EVERY == 0:
            told = f"\r{number:,} of {seen.count:,}, {len(seen.failures)} failures"
            print(told, end="", file=sys.stderr, flush=True)


def main(described: str | None, run: Callable[[int, int, bool], Seen]) -> int:
    """A run with the options of the command line, told and written to a file; 1 if it saw a failure or a slow input."""
    options = argparse.ArgumentParser(description=described, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--report", type=Path)
    chosen = options.parse_args()
    seen = run(chosen.count, chosen.seed, True)
    name = Path(sys.argv[0]).stem.replace("_", "-")
    record = Result(name, "generated", asdict(seen), chosen.seed).record()
    report = json.dumps(record | {"command": " ".join(["python", *sys.argv])}, indent=2, ensure_ascii=True)
    print(f"\n{report}")
    if chosen.report:
        chosen.report.write_text(report + "\n", encoding="utf-8")
    return 1 if seen.failures or seen.over_limit else 0
