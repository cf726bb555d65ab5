"""How many small changes of the code do the tests notice? Mutation testing over a seeded sample of the core.

    python -m tools.mutants --count 204 --seed 16 --output docs/results/mutants.json

Outcomes are kept in the work folder as they come: what was interrupted goes on. With ``--survivors`` only the mutants
that survived before are tried again, after tests were added. A survivor needs a reason in
``tools/mutants/equivalent.json``: why no test can tell it from the code.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools.mutants.choosing import Choice, is_kernel
from tools.mutants.sites import PACKAGES, Mutant, sampled
from tools.mutants.trees import Outcome, Tree

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.json")
SURVIVED = ("survived", "uncovered")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=204, help="how many mutants")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "mutants", help="a folder for copies and outcomes"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "results" / "mutants.json")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, help="only the mutants of these")
    parser.add_argument("--budget-s", type=float, default=120, help="tests of so many seconds are run on a mutant")
    parser.add_argument("--survivors", action="store_true", help="only those that survived before")
    parser.add_argument("--also", nargs="+", default=[], help="tests that are newer than the baseline: tried first")
    parser.add_argument("--kept-baseline", action="store_true", help="do not measure again what the tests run")
    asked = parser.parse_args()
    sample = sampled(ROOT, asked.count, asked.seed)
    outcomes = Outcomes(asked.work / f"outcomes-{asked.seed}.jsonl")
    if asked.survivors:
        outcomes.forget(SURVIVED)
    waiting = [mutant for mutant in sample if outcomes.of(mutant) is None and mutant.package in asked.packages]
    if waiting:
        run(waiting, outcomes, asked)
    report = reported(sample, outcomes, asked.seed)
    asked.output.write_text(json.dumps(report, indent=1) + "\n")
    unexplained = [row for row in report["survivors"] if not row["why"]]
    print(json.dumps({name: report[name] for name in ("mutants", "caught", "equivalent", "caught_share")}))
    print(f"{len(unexplained)} survivors without a reason", file=sys.stderr)
    return 1 if unexplained else 0


class Outcomes:
    """What became of each mutant so far: lines of JSON in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        self._known = {row["key"]: Outcome(**row["outcome"]) for row in rows}

    def of(self, mutant: Mutant) -> Outcome | None:
        return self._known.get(key(mutant))

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        self._known[key(mutant)] = outcome
        with self._file.open("a") as file:
            print(json.dumps({"key": key(mutant), "outcome": asdict(outcome)}), file=file)

    def forget(self, verdicts: tuple[str, ...]) -> None:
        self._known = {name: outcome for name, outcome in self._known.items() if outcome.verdict not in verdicts}


def run(mutants: list[Mutant], outcomes: Outcomes, asked: argparse.Namespace) -> None:
    """Measure what the tests run, then try each mutant with those that can notice it."""
    work, workers, budget_s = asked.work, asked.workers, asked.budget_s
    data, durations, pristine = work / "coverage", work / "durations.json", work / "pristine"
    if not asked.kept_baseline:
        data.unlink(missing_ok=True)
        Tree.copied(ROOT, pristine).measure(data, durations)
    choice = Choice.read(pristine, data, durations)
    trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
    for number in range(workers):
        trees.put(Tree.copied(pristine, work / f"worker-{number}"))

    def trial(mutant: Mutant) -> None:
        tree = trees.get()
        try:
            tests, seconds = choice.within(choice.tests(mutant), budget_s)
            outcome = tree.tried(mutant, [*asked.also, *tests], seconds, pristine)
        finally:
            trees.put(tree)
        outcomes.add(mutant, outcome)
        print(outcome.verdict, f"{outcome.seconds} s", *changed(mutant), outcome.by[-150:], sep=" | ", flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(trial, sorted(mutants, key=lambda mutant: is_kernel(ROOT, mutant.file))))  # to compile takes long


def reported(sample: list[Mutant], outcomes: Outcomes, seed: int) -> dict[str, Any]:
    known = [(mutant, outcome) for mutant in sample if (outcome := outcomes.of(mutant)) is not None]
    reasons = {tuple(row["change"]): row["why"] for row in json.loads(EQUIVALENT.read_text())}
    survivors = [(mutant, changed(mutant)) for mutant, outcome in known if outcome.verdict in SURVIVED]
    packages = {
        package: dict(Counter(outcome.verdict for mutant, outcome in known if mutant.package == package))
        for package in sorted({mutant.package for mutant, _ in known})
    }
    explained = sum(change in reasons for _, change in survivors)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {
        "tool": "the operators of Cosmic Ray, with tools/mutants",
        "version": version("cosmic-ray"),
        "seed": seed,
        "command": f"make mutate ARGS='{' '.join(sys.argv[1:])}'",
        "commit": commit.stdout.strip(),
        "drawn": len(sample),
        "mutants": len(known),
        "caught": len(known) - len(survivors),
        "survived": len(survivors),
        "equivalent": explained,
        "caught_share": round((len(known) - len(survivors)) / max(1, len(known)), 4),
        "caught_share_without_equivalent": round((len(known) - len(survivors)) / max(1, len(known) - explained), 4),
        "packages": packages,
        "survivors": [
            {
                "file": change[0],
                "line": mutant.begin[0],
                "was": change[1],
                "is": change[2],
                "why": reasons.get(change, ""),
            }
            for mutant, change in survivors
        ],
    }


def changed(mutant: Mutant) -> tuple[str, str, str]:
    """The file and the line that a mutant changes, before and after."""
    source = (ROOT / mutant.file).read_text()
    line = mutant.begin[0] - 1
    return mutant.file, source.splitlines()[line].strip(), mutant.code(source).splitlines()[line].strip()


def key(mutant: Mutant) -> str:
    return f"{mutant.file} {mutant.operator} {mutant.occurrence}"


if __name__ == "__main__":
    sys.exit(main())
