"""Which Python do Spark's workers run, and can it import tidings? Said in a line, before Spark says it in a hundred."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidings.model import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMEOUT_S = 180.0
_CARRIED = ("spark.submit.pyFiles", "spark.archives")
_TRY_IMPORT = "import sys, tidings; print('%d.%d' % sys.version_info[:2])"


def check_workers(session: SparkSession) -> None:
    """Refuse a session on this machine whose workers cannot import tidings; of others nothing is known here.

    Cost: microseconds where the workers run the Python of the driver, else some 0.2 s for a process that tries.
    """
    worker = _worker_of(session)
    if worker is None or _is_ours(worker):
        return
    if problem := import_problem(worker):
        raise DataError(
            f"Spark's workers: {problem}; set PYSPARK_PYTHON={sys.executable} before the session starts, "
            "or install tidings there"
        )


def import_problem(worker: str) -> str:
    """Why workers of that interpreter cannot run tidings; empty if they can."""
    try:
        ran = subprocess.run(
            [worker, "-c", _TRY_IMPORT], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{worker} cannot be run: {error}"
    if ran.returncode:
        why = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
        return f"{worker} cannot import tidings: {why}"
    ours = ".".join(platform.python_version_tuple()[:2])
    if ran.stdout.strip() != ours:
        return f"{worker} is Python {ran.stdout.strip()}, the driver has {ours}"
    return ""


def named_worker() -> str:
    """The interpreter that a session which starts now would run its workers with."""
    return os.environ.get("PYSPARK_PYTHON") or "python3"


def _worker_of(session: SparkSession) -> str | None:
    """The interpreter of the workers; None if they are not of this machine, or Spark carries packages to them."""
    master = session.conf.get("spark.master", "")
    if not (master == "local" or master.startswith("local[")) or any(session.conf.get(name, "") for name in _CARRIED):
        return None
    context = None if type(session).__module__.startswith("pyspark.sql.connect.") else session.sparkContext
    return None if context is None else str(context.pythonExec)  # as it was when the session started


def _is_ours(worker: str) -> bool:
    """Whether it is the interpreter of this process, in the same environment."""
    found, ours = shutil.which(worker), Path(sys.executable)
    return found is not None and Path(found).parent == ours.parent and ours.samefile(found)
