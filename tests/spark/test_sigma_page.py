"""Do the commands of docs/sigma.md run as they are written, from rules to what they detect?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.sigma.test_sigma import RULE

PAGE = (Path(__file__).parents[2] / "docs" / "sigma.md").read_text(encoding="utf-8")
EVENT = {"ParentImage": "C:\\W3WP.exe", "CommandLine": "cmd /c WhoAmI /all", "EventID": "4688"}

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]  # three sessions of Spark


def test_the_page_runs_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sigma/rules/windows").mkdir(parents=True)
    Path("sigma/rules/windows/shell.yml").write_text(RULE)
    Path("logs/process_creation").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([EVENT, {**EVENT, "EventID": "1"}]), "logs/process_creation/1.parquet")
    Path("incoming").mkdir()
    source = '"logsource": {"category": "process_creation", "product": "windows"}'
    fields = ", ".join(f'"{name}": "{value}"'.replace("\\", "\\\\") for name, value in EVENT.items())
    lines = [f'{{"id": "1", {source}, {fields}}}', f'{{"id": "2", {source.replace("windows", "linux")}, {fields}}}']
    Path("incoming/1.json").write_text("\n".join(lines) + "\n")

    [subscribing] = re.findall(r"^tidings (subscribe alerts --sigma .*)$", PAGE, re.MULTILINE)
    assert "1 accepted, 0 rejected" in _tidings(subscribing)
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert "high: A shell of the web server" in _python(code)
    [row] = pq.read_table("detections").to_pylist()
    assert row["tag"] == "high: A shell of the web server"
    [config] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    Path("pipeline.toml").write_text(config)
    [running] = re.findall(r"^tidings (run --config .*)$", PAGE, re.MULTILINE)
    _tidings(running)
    assert pq.read_table("detections-live")["publication_id"].to_pylist() == ["1"]


def _tidings(command: str) -> str:
    return _python("from tidings.cli.main import main; main()", *command.split())


def _python(code: str, *arguments: str) -> str:
    """What a program of its own prints: a session of Spark knows the folder in which it began."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    program = [sys.executable, "-c", code, *arguments]
    ran = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
