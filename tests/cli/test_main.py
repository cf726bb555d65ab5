import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tidings.cli.main import app

runner = CliRunner()

COMMANDS = [
    ["demo"],
    ["tour"],
    ["match"],
    ["subscribe"],
    ["unsubscribe"],
    ["explain"],
    ["doctor"],
    ["run"],
]


def tidings(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from tidings.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_tour_shows_matches_and_why() -> None:
    result = runner.invoke(app, ["tour", "--posts", "300", "--seed", "1"])
    assert result.exit_code == 0
    assert 'fire: "fire"; no drill' in result.stdout
    assert "column 6: unknown operator '&'" in result.stdout
    assert "of 300 posts reached somebody" in result.stdout


def test_the_tour_depends_on_its_seed_alone() -> None:
    def shown(seed: str) -> str:
        return runner.invoke(app, ["tour", "--posts", "50", "--seed", seed]).stdout.rpartition(", in ")[0]

    assert shown("1") == shown("1") != shown("2")


@pytest.mark.parametrize("arguments", COMMANDS)
def test_help_has_a_text_and_an_example(arguments: list[str]) -> None:
    result = runner.invoke(app, [*arguments, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert f"Example: tidings {' '.join(arguments)}" in result.stdout


def test_an_error_is_one_line_and_exit_1() -> None:
    result = tidings("match", "absent.parquet", "absent.jsonl")
    assert result.returncode == 1 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and "absent.parquet" in result.stderr
    assert "Traceback" in tidings("--debug", "match", "absent.parquet", "absent.jsonl").stderr


def test_misuse_is_exit_2() -> None:
    assert runner.invoke(app, ["tour", "--posts", "many"]).exit_code == 2
    assert runner.invoke(app, ["nonsense"]).exit_code == 2


def test_the_version_is_told() -> None:
    assert runner.invoke(app, ["--version"]).stdout.startswith("tidings 0.")
