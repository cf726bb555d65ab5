"""Which tests can notice a change? Those that run the statement that it is in; the quickest first.

numba's functions are compiled, so no tracer sees them run: there, all tests count that run a function of a file that
imports the kernel, directly or by way of another kernel. A test of the same package comes first.
"""

from __future__ import annotations

import ast
import json
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from coverage import CoverageData

from tools.mutants.sites import Mutant

_FOREIGN = 4.0  # a test of another package is taken for so much slower than it is


@dataclass(frozen=True, slots=True)
class Choice:
    """What the tests of a tree have run: contexts by file and line, seconds by test."""

    root: Path
    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    @classmethod
    def read(cls, root: Path, data: Path, durations: Path) -> Choice:
        told = CoverageData(str(data))
        told.read()
        seconds = json.loads(durations.read_text())
        lines = {
            str(Path(file).relative_to(root)): {
                line: {context for context in contexts if context in seconds}
                for line, contexts in told.contexts_by_lineno(file).items()
            }
            for file in told.measured_files()
        }
        return cls(root, lines, seconds)

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that can notice a mutant, those first that are likely to tell soonest."""
        tree = ast.parse((self.root / mutant.file).read_text())
        first, last = _statement(tree, mutant.begin[0])
        own = self.lines.get(mutant.file, {})
        found = set().union(*(own.get(line, set()) for line in range(first, last + 1)))
        if not found and is_kernel(self.root, mutant.file):
            found = self._callers(mutant.file)
        found = found or self._of_file(mutant.file)  # it runs when the file is imported
        return sorted(found, key=lambda test: (self._rank(test, mutant.package), test))

    def within(self, tests: list[str], budget_s: float) -> tuple[list[str], float]:
        """The first tests, those that take so many seconds together, and how many these are; one at least."""
        sums = list(accumulate(self.seconds[test] for test in tests))
        count = max(1, bisect_right(sums, budget_s))
        return tests[:count], sums[min(count, len(sums)) - 1] if sums else 0.0

    def _rank(self, test: str, package: str) -> float:
        is_own = package in Path(test.partition("::")[0]).parts
        return self.seconds.get(test, 0.0) * (1.0 if is_own else _FOREIGN)

    def _of_file(self, file: str) -> set[str]:
        """The tests that run any function of a file."""
        return set().union(*self.lines.get(file, {}).values())

    def _callers(self, kernel: str) -> set[str]:
        """The tests that run any function of a file which imports a kernel, and those of files that import it."""
        files = {kernel, *dependents(self.root, kernel)}
        importers = {other for file in files for other in self.lines if _imports(self.root, other, file)}
        direct = {
            file for file in {test.partition("::")[0] for test in self.seconds} if _imports(self.root, file, kernel)
        }
        found = {test for test in self.seconds if test.partition("::")[0] in direct}
        return found.union(*(self._of_file(file) for file in importers | files))


def is_kernel(root: Path, file: str) -> bool:
    return "import numba" in (root / file).read_text()


def dependents(root: Path, kernel: str) -> list[str]:
    """The kernels that import a kernel, or another that does: their compiled code has a copy of it."""
    kernels = [str(file.relative_to(root)) for file in (root / "src").rglob("*.py")]
    kernels = [file for file in kernels if is_kernel(root, file)]
    found: list[str] = []
    waiting = [kernel]
    while waiting:
        file = waiting.pop()
        new = [other for other in kernels if other not in (*found, kernel) and _imports(root, other, file)]
        found += new
        waiting += new
    return found


def _imports(root: Path, file: str, other: str) -> bool:
    package, _, module = other.removeprefix("src/").removesuffix(".py").replace("/", ".").rpartition(".")
    for node in ast.walk(ast.parse((root / file).read_text())):
        if isinstance(node, ast.ImportFrom) and (
            node.module == f"{package}.{module}"
            or (node.module == package and module in {alias.name for alias in node.names})
        ):
            return True
    return False


def _statement(tree: ast.Module, line: int) -> tuple[int, int]:
    """The first and the last line of the innermost statement at a line; of one with a body, those before the body."""
    best = (line, line)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) else node.end_lineno or node.lineno
            best = node.lineno, last  # the walk goes from the outside in
    return best
