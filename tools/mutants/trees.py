"""Where does a mutant run? In a copy of the checkout, one for each worker, with compiled kernels that are not stale."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tools.mutants.baseline import PROFILE
from tools.mutants.choosing import dependents, is_kernel
from tools.mutants.sites import PACKAGES, Mutant

COPIED = ("src", "benchmarks", "tests", "tools", "docs", "pyproject.toml", "README.md")
PYTEST = (
    *("-o", "addopts=", "--import-mode=importlib", "--doctest-modules", "--strict-markers", "-q", "--no-header"),
    *("-m", "not slow and not spark", "-p", "no:cacheprovider", "-p", "tools.mutants.baseline"),
    *(f"--hypothesis-profile={PROFILE}", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
_ROOM_BYTES = 12 << 30  # a mutant may ask for any amount of memory
_SECONDS = 60.0  # to start, and to import everything
_COMPILING_S = 180.0  # to compile kernels as well
_SLOWER = 8.0  # the machine may be busy
_SERVER = get_context("forkserver")
_SERVER.set_forkserver_preload(["pytest", "hypothesis", "numba", "pyarrow.compute", "pyarrow.parquet", "deltalake"])
_STARTING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the tests said of a mutant: ``caught``, ``timeout``, ``survived`` or, if no test runs it, ``uncovered``."""

    verdict: str
    tests: int
    seconds: float
    by: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of a checkout. The compiled code of numba is copied with it, and found as long as a file is unchanged."""

    root: Path

    @classmethod
    def copied(cls, checkout: Path, root: Path) -> Tree:
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        for name in COPIED:
            if (checkout / name).is_dir():
                shutil.copytree(checkout / name, root / name)
            else:
                shutil.copy2(checkout / name, root / name)
        return cls(root)

    def measure(self, data: Path, durations: Path) -> None:
        """Run all tests that need no Spark, and write down what each of them runs; those that fail are left out."""
        tests = [name for package in PACKAGES for name in (f"tests/{package}", f"src/tidings/{package}")]
        coverage = ["-m", "coverage", "run", f"--data-file={data}", "--source=src/tidings"]
        command = [sys.executable, *coverage, "-m", "pytest", *PYTEST, f"--basetemp={self.root / 'tmp'}", *tests]
        env = self._env() | {"TIDINGS_DURATIONS": str(durations)}
        subprocess.run(command, cwd=self.root, env=env, check=False)

    def tried(self, mutant: Mutant, tests: list[str], seconds: float, pristine: Path) -> Outcome:
        """Let the tests say what they think of a mutant; the tree is as before afterwards."""
        if not tests:
            return Outcome("uncovered", 0, 0.0)
        file = self.root / mutant.file
        kernels = [mutant.file, *dependents(self.root, mutant.file)] if is_kernel(self.root, mutant.file) else []
        self._forget(kernels)
        file.write_text(mutant.code(file.read_text()))
        try:
            limit = (_COMPILING_S if kernels else _SECONDS) + _SLOWER * seconds
            return self._run(tests, limit)
        finally:
            shutil.copy2(pristine / mutant.file, file)
            self._restore(kernels, pristine)

    def _run(self, tests: list[str], limit: float) -> Outcome:
        temporary, told = self.root / "tmp", self.root / "told"
        options = [*PYTEST, "-x", "--tb=no", f"--basetemp={temporary}", *tests]
        began = time.monotonic()
        with _STARTING:
            process = _SERVER.Process(target=_tested, args=(self.root, self._env(), options, told))
            process.start()
        process.join(limit)
        is_late = process.is_alive()
        _end(process)
        shutil.rmtree(temporary, ignore_errors=True)
        seconds = round(time.monotonic() - began, 1)
        if is_late:
            return Outcome("timeout", len(tests), seconds)
        output = told.read_text(errors="replace")
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        by = failed[0].split()[1] if failed else output.strip()[-200:] if process.exitcode else ""
        return Outcome("caught" if process.exitcode else "survived", len(tests), seconds, by)

    def _forget(self, kernels: list[str]) -> None:
        """Remove the compiled code of kernels: numba does not notice that another file has changed."""
        for kernel in kernels:
            for compiled in _compiled(self.root / kernel):
                compiled.unlink()

    def _restore(self, kernels: list[str], pristine: Path) -> None:
        self._forget(kernels)
        for kernel in kernels:
            for compiled in _compiled(pristine / kernel):
                shutil.copy2(compiled, (self.root / kernel).parent / "__pycache__" / compiled.name)

    def _env(self) -> dict[str, str]:
        env = os.environ | {"PYTHONPATH": str(self.root / "src")}
        return env | {
            "NUMBA_OPT": "1",
            "TMPDIR": str(self.root),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.root / "tmp"),
        }


def _compiled(kernel: Path) -> list[Path]:
    return [*(kernel.parent / "__pycache__").glob(f"{kernel.stem}.*.nb?")]


def _tested(root: Path, env: dict[str, str], options: list[str], told: Path) -> None:
    """Run tests in this process, which was forked from one that has imported what takes long, and nothing of ours."""
    os.setsid()  # what it starts ends with it
    resource.setrlimit(resource.RLIMIT_AS, (_ROOM_BYTES, _ROOM_BYTES))
    file = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.chdir(root)
    os.environ |= env
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(root), str(root / "src")]
    code = int(pytest.main(options))
    sys.stdout.flush()
    os._exit(code)  # whatever threads are left


def _end(process: BaseProcess) -> None:
    """End a process and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
