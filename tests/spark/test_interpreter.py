"""Is it said in a line that Spark's workers cannot import tidings?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidings.model import DataError
from tidings.spark.interpreter import check_workers

ROOT = Path(__file__).parents[2]


def script(folder: Path, text: str) -> Path:
    """An interpreter by the name python3."""
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def session(worker: object, **settings: str) -> Any:
    """As much of a session as is looked at."""
    conf = {"spark.master": "local[2]"} | {name.replace("_", "."): value for name, value in settings.items()}
    return SimpleNamespace(conf=SimpleNamespace(get=conf.get), sparkContext=SimpleNamespace(pythonExec=str(worker)))


@pytest.mark.slow
@pytest.mark.spark
def test_an_ordinary_script_without_an_activated_environment_is_told_what_to_set(tmp_path: Path) -> None:
    script(tmp_path, f'exec {sys.executable} -I -S "$@"')
    left = {name: value for name, value in os.environ.items() if name not in {"PYSPARK_PYTHON", "SPARK_HOME"}}
    path = os.pathsep.join([str(tmp_path), *left["PATH"].split(os.pathsep)])
    python_path = os.pathsep.join([str(ROOT), *filter(None, [left.get("PYTHONPATH")])])
    result = subprocess.run(
        [sys.executable, "-m", "tests.spark.ordinary"],
        env=left | {"PATH": path, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": python_path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert result.returncode == 0, result.stderr[-5000:]
    *told, left_behind = result.stdout.splitlines()
    assert len(told) == 2 and left_behind == "left behind: []"
    for line in told:
        assert line.startswith("refused: Spark's workers: python3 cannot import tidings")
        assert "No module named 'tidings'" in line
        assert f"set PYSPARK_PYTHON={sys.executable} before the session starts" in line


def test_workers_that_can_import_tidings_are_left_alone(tmp_path: Path) -> None:
    check_workers(session(sys.executable))
    check_workers(session(script(tmp_path, f'exec {sys.executable} "$@"')))


@pytest.mark.parametrize(
    ("text", "problem"),
    [("echo 3.99", "is Python 3.99, the driver has"), ("exit 3", "cannot import tidings: exit code 3")],
)
def test_workers_of_another_python_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=problem):
        check_workers(session(script(tmp_path, text)))
    with pytest.raises(DataError, match="cannot be run"):
        check_workers(session(tmp_path / "absent"))


@pytest.mark.parametrize(
    "settings",
    [{"spark_master": "spark://there:7077"}, {"spark_submit_pyFiles": "tidings.zip"}, {"spark_archives": "env.tar.gz"}],
)
def test_nothing_is_said_of_workers_elsewhere_or_with_packages_of_their_own(
    settings: dict[str, str], tmp_path: Path
) -> None:
    check_workers(session(tmp_path / "absent", **settings))
