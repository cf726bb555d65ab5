"""Does the doctor find what is wrong, and say what to do?"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tidings
from tidings.cli import checks
from tidings.cli.checks import Check


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)


def states(out: str) -> dict[str, str]:
    return {check["name"]: check["state"] for check in json.loads(out)}


def test_a_healthy_machine_passes(tidings: Tidings, healthy: None) -> None:
    ran = tidings("doctor", "--format", "json")
    assert ran.code == 0 and "bad" not in states(ran.out).values()
    assert {"Python", "Java", "pyspark", "pandas", "memory", "cores", "numba's cache"} < states(ran.out).keys()
    assert all(check["advice"] for check in json.loads(ran.out) if check["state"] != "ok")


def test_a_bad_check_is_exit_1_in_every_format(
    tidings: Tidings, healthy: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "absent"))
    ran = {name: tidings("doctor", "--format", name) for name in ("json", "csv", "table")}
    assert {name: one.code for name, one in ran.items()} == {"json": 1, "csv": 1, "table": 1}
    assert all("JAVA_HOME" in one.out and "apt install" in one.out for one in ran.values())
    assert states(ran["json"].out)["Java"] == "bad"
    rows = list(csv.DictReader(io.StringIO(ran["csv"].out)))
    assert {row["name"]: row["state"] for row in rows} == states(ran["json"].out)


def test_a_worker_python_without_tidings_is_bad(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone = tmp_path / "python"
    alone.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    alone.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(alone))
    check = checks.worker_python()
    assert check.state == "bad" and "No module named 'tidings'" in check.found
    assert check.advice == f"export PYSPARK_PYTHON={sys.executable}"


def test_a_worker_python_of_another_version_is_bad(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 3.99\n")
    other.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    assert "is Python 3.99" in checks.worker_python().found and checks.worker_python().state == "bad"


def test_a_worker_python_that_is_not_there_is_bad(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "absent"))
    assert checks.worker_python().state == "bad" and "cannot be run" in checks.worker_python().found


@pytest.mark.parametrize(("found", "state"), [("2.3.3", "ok"), ("3.0.1", "warning"), ("1.5.3", "bad"), ("", "bad")])
def test_pandas_has_to_be_there_and_not_too_new(
    found: str, state: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / f"pandas-{found}.dist-info"
    if found:
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pandas\nVersion: {found}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    check = checks.pandas()
    assert (check.state, check.found) == (state, found or "not installed")
    assert ("pip install" in check.advice) == (state != "ok")


def test_a_cache_that_cannot_be_written_is_bad(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert checks.numba_cache().state == "bad"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert checks.numba_cache().state == "ok" and list((tmp_path / "cache").iterdir()) == []


def test_kafka_is_a_warning_until_its_jars_are_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDINGS_JARS", str(tmp_path))
    assert checks.kafka().state == "warning"
    jar = tmp_path / "connector" / "spark-sql-kafka-0-10_2.13-4.3.0.jar"
    jar.parent.mkdir()
    jar.write_bytes(b"")
    assert checks.kafka() == Check("Kafka connector", "ok", str(jar))


def test_little_memory_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LEAST_MEMORY_BYTES", 1 << 60)
    monkeypatch.setattr(checks, "LEAST_DISK_BYTES", 1 << 60)
    assert checks.memory().state == checks.disk().state == "warning"
    monkeypatch.setattr(checks, "FULL_DISK_BYTES", 1 << 60)
    assert checks.disk().state == "bad"


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_is_started_and_matches(tidings: Tidings, healthy: None) -> None:
    ran = tidings("doctor", "--start", "--format", "json")
    assert states(ran.out)["Spark session"] == "ok", ran.out


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_that_does_not_start_is_bad(healthy: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert checks.started().state == "bad"
