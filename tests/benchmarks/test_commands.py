import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app

runner = CliRunner()


NAMES = [
    "analysis",
    "matching",
    "growth",
    "moves",
    "engine",
    "spark",
    "s3tm",
    "shedding",
    "balancing",
    "brokers",
    "policies",
    "registry",
    "router",
    "lsm",
    "keep",
    "pieces",
    "pipeline-past",
    "sigma",
]


@pytest.mark.parametrize("name", NAMES)
def test_help_has_a_text_and_an_example(name: str) -> None:
    result = runner.invoke(app, [name, "--help"])
    assert result.exit_code == 0 and "Usage:" in result.stdout
    assert f"Example: python -m benchmarks {name}" in result.stdout


def test_an_error_is_one_line_and_exit_1() -> None:
    command = [sys.executable, "-m", "benchmarks", "analysis", "--posts", "absent.parquet"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert result.returncode == 1 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and "absent.parquet" in result.stderr


def test_analysis_prints_data_on_stdout_and_saves_it(tmp_path: Path) -> None:
    saved = tmp_path / "deep" / "analysis.json"
    result = runner.invoke(app, ["analysis", "--rows", "300", "--format", "json", "--save", str(saved)])
    record = json.loads(result.stdout)
    assert record["figures"]["posts"] == 300 and record["figures"]["posts_that_differ"] == 0
    assert {"command", "commit", "dataset", "seed", "machine"} <= record.keys()
    assert json.loads(saved.read_text())["figures"] == record["figures"]
    as_csv = runner.invoke(app, ["analysis", "--rows", "300", "--format", "csv"]).stdout
    assert as_csv.splitlines()[:2] == ["figure,value", "posts,300"]
