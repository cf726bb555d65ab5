"""What does tidings need of a machine? A check for each thing: what was found, and what to do if that will not do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from tidings.cli import java
from tidings.model import DataError
from tidings.spark.interpreter import TIMEOUT_S, import_problem, named_worker
from tidings.spark.jars import connector_jars, jar_folder

OLDEST_PYTHON = (3, 11)
LEAST_MEMORY_BYTES = 4 << 30
LEAST_DISK_BYTES = 5 << 30
FULL_DISK_BYTES = 200 << 20

# As a user would: publications through mapInArrow, so the session, the JVM, pandas and the workers are all tried.
_TRY_SPARK = """
import pyarrow as pa
from pyspark.sql import SparkSession
from tidings.spark import match
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
posts = spark.createDataFrame([("p1", "fire"), ("p2", "rain")], "id string, text string")
found = match(posts, pa.table({"id": ["s1"], "query": ["fire"]})).collect()
assert [row["publication_id"] for row in found] == ["p1"], found
print(spark.version)
"""


@dataclass(frozen=True, slots=True)
class Check:
    """What was ``found`` of ``name``; ``advice`` says what to do unless it is ok."""

    name: str
    state: Literal["ok", "warning", "bad"]
    found: str
    advice: str = ""


def all_checks() -> list[Callable[[], Check]]:
    """Those that take a moment; :func:`started` takes longer."""
    return [python, found_java, pyspark, pyarrow, pandas, worker_python, memory, cores, disk, numba_cache, kafka]


def python() -> Check:
    ok = sys.version_info >= OLDEST_PYTHON
    found = f"{platform.python_version()}, {sys.executable}"
    return Check("Python", "ok" if ok else "bad", found, "" if ok else "install Python 3.11 or newer")


def found_java() -> Check:
    try:
        return Check("Java", "ok", java.require_java())
    except java.NoJavaError as error:
        return Check("Java", "bad", str(error), java.HOW_TO_INSTALL)


def pyspark() -> Check:
    return _package("pyspark", (4, 3), "pip install 'tidings[spark]'; without it, one process can still match")


def require_spark() -> None:
    """Say in one sentence what is missing, before Spark says it in a hundred lines."""
    for check in (pyspark(), pandas(), found_java()):
        if check.state == "bad":
            raise DataError(f"{check.name}: {check.found.rstrip('.')}; tidings doctor says what to do")


def pyarrow() -> Check:
    return _package("pyarrow", (18,), "pip install --upgrade pyarrow")


def pandas() -> Check:
    check = _package("pandas", (2, 2), "pip install 'pandas>=2.2,<3': PySpark refuses mapInArrow without pandas")
    if check.state == "ok" and _numbers(check.found) >= (3,):
        return Check("pandas", "warning", check.found, "pip install 'pandas<3': PySpark 4.3 is not ready for pandas 3")
    return check


def worker_python() -> Check:
    """Spark starts its workers with PYSPARK_PYTHON, or with whatever python3 is on PATH."""
    name = "Python of Spark's workers"
    worker = named_worker()
    if problem := import_problem(worker):
        return Check(name, "bad", problem, f"export PYSPARK_PYTHON={sys.executable}")
    return Check(name, "ok", f"{worker} imports tidings")


def memory() -> Check:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return _at_least(
        "memory", total, LEAST_MEMORY_BYTES, "Spark wants 4 GiB; lower spark.driver.memory, match less at once"
    )


def cores() -> Check:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    few = "JVM and Python workers will take turns; two or more are better" if count < 2 else ""
    return Check("cores", "warning" if few else "ok", str(count), few)


def disk() -> Check:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    advice = "shuffles and checkpoints go there: free some space, or set TMPDIR and spark.local.dir"
    check = _at_least(f"free disk in {folder}", free, LEAST_DISK_BYTES, advice)
    return Check(check.name, "bad", check.found, advice) if free < FULL_DISK_BYTES else check


def numba_cache() -> Check:
    """Compiled kernels are kept where NUMBA_CACHE_DIR says, beside the sources, or in a folder of the user."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    package = Path(__file__).parents[1]
    places = [Path(named)] if named else [package / "index" / "__pycache__", Path.home() / ".cache" / "numba"]
    for place in places:
        if _writable(place):
            return Check("numba's cache", "ok", f"{place} can be written to")
    advice = "set NUMBA_CACHE_DIR to a folder that you may write to"
    return Check("numba's cache", "bad", f"none of {', '.join(map(str, places))} can be written to", advice)


def kafka() -> Check:
    spark = find_spec("pyspark")
    inside = Path(spark.origin).parent / "jars" if spark and spark.origin else Path()
    for jar in (*inside.glob("spark-sql-kafka*.jar"), *connector_jars()):
        if jar.name.startswith("spark-sql-kafka"):
            return Check("Kafka connector", "ok", str(jar))
    advice = (
        "only if you use Kafka: make kafka ARGS=install in a checkout, or start Spark with "
        "spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13 of its version"
    )
    return Check("Kafka connector", "warning", f"none in PySpark, none in {jar_folder()}", advice)


def started() -> Check:
    """A session of its own, in a process of its own, which matches two posts."""
    name = "Spark session"
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _TRY_SPARK], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Check(name, "bad", f"no match within {TIMEOUT_S:g} s", "see that nothing else keeps this machine busy")
    if ran.returncode:
        lines = [line for line in ran.stderr.splitlines() if line.strip()] or [f"exit code {ran.returncode}"]
        told = next((line for line in reversed(lines) if "Error" in line or "Exception" in line), lines[-1])
        return Check(name, "bad", told.strip()[:300], "mend what is bad above, and try again")
    return Check(name, "ok", f"Spark {ran.stdout.strip()} starts, and a worker matches")


def _package(name: str, oldest: tuple[int, ...], advice: str) -> Check:
    try:
        found = version(name)
    except PackageNotFoundError:
        return Check(name, "bad", "not installed", advice)
    return Check(name, "ok", found) if _numbers(found) >= oldest else Check(name, "bad", found, advice)


def _numbers(text: str) -> tuple[int, ...]:
    """
    >>> _numbers("4.3.0.dev1")
    (4, 3, 0)
    """
    numbers = []
    for part in text.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _at_least(name: str, found_bytes: int, least_bytes: int, advice: str) -> Check:
    enough = found_bytes >= least_bytes
    return Check(name, "ok" if enough else "warning", f"{found_bytes / 2**30:.1f} GiB", "" if enough else advice)


def _writable(folder: Path) -> bool:
    """Whether a file can be made there; the folder is made if need be, as numba does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
