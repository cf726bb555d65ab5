"""What must be written beside a figure so that anybody can make it again?"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one run, with the command, the data, the commit and the machine they come from.

    Files and folders are named without what they lie in, which is another one on another machine.
    """

    name: str
    dataset: str
    figures: dict[str, Any]
    seed: int | None = None

    def record(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "command": " ".join([f"python -m {_module()}", *map(_unplaced, sys.argv[1:])]),
            "dataset": self.dataset,
            "seed": self.seed,
            "commit": _commit(),
            "machine": _machine(),
            "figures": self.figures,
        }

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.record(), indent=2) + "\n", encoding="utf-8")


def _unplaced(word: str) -> str:
    """A word of the command line: without what it lies in if it is a file or a folder."""
    return Path(word).name or word if Path(word).exists() else word


def _module() -> str:
    """The package that was run: ``benchmarks``, or one in it."""
    folder = Path(sys.argv[0]).parent
    return f"{folder.parent.name}.{folder.name}" if folder.parent.name == "benchmarks" else "benchmarks"


def _commit() -> str:
    """The commit that was measured, marked where the sources had changes; "unknown" outside a checkout."""
    folder = Path(__file__).parents[1]
    head = _git(folder, "rev-parse", "--short", "HEAD").stdout.strip()
    changed = _git(folder, "diff", "--quiet", "HEAD", "--", ".", ":(exclude)docs/results").returncode
    return f"{head}-dirty" if head and changed else head or "unknown"


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "python": platform.python_version(),
        "numba": version("numba"),
        "pyarrow": version("pyarrow"),
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
