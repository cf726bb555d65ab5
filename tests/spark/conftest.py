"""One Spark session for all tests of this folder, and a registry that some of them begin with."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark import oracle
from tidings.registry import Registry


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """A quiet session on two threads, with adaptive execution as it is by default."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  # only where it runs

    os.environ.pop("SPARK_HOME", None)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Options with which the JVM of a driver starts in half the time."""
    from tests.spark.faults import archived  # noqa: PLC0415  # only where Spark runs

    return archived(tmp_path_factory.mktemp("archive"))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    """Some subscriptions of all kinds."""
    registry = Registry(tmp_path / "registry")
    registry.add(oracle.subscriptions(random.Random(1), 150))
    return registry
