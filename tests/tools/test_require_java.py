"""Does the check for Java let the right ones through, and say what is wrong with the others?"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tidings.cli import java

SCRIPT = Path(__file__).parents[2] / "tools" / "require_java.py"


def fake_java(folder: Path, body: str) -> Path:
    """A shell script ``folder/bin/java``; gives back its ``bin``."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{body}\n")
    java.chmod(0o755)
    return java.parent


def says(version: str) -> str:
    return f"""echo 'openjdk version "{version}" 2025-04-15' >&2; echo 'OpenJDK Runtime Environment' >&2"""


def check(path: Path, *options: str, java_home: Path | str | None = None) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(path)}
    if java_home is not None:
        env["JAVA_HOME"] = str(java_home)
    command = [sys.executable, str(SCRIPT), *options]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def assert_refused(result: subprocess.CompletedProcess[str], *told: str) -> None:
    assert result.returncode == 1
    assert result.stdout == ""
    for piece in (*told, "Spark 4 needs Java 17 or newer", "apt install", "brew install", "conda install"):
        assert piece in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("version", ["17", "17.0.15", "21", "21.0.2+13-LTS", "24-ea", "117"])
def test_java_17_and_newer_pass_in_silence(tmp_path: Path, version: str) -> None:
    result = check(fake_java(tmp_path, says(version)))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("version", ["1.8.0_392", "9-ea", "11.0.22", "16.0.2"])
def test_an_older_java_is_refused_with_its_version_and_place(tmp_path: Path, version: str) -> None:
    folder = fake_java(tmp_path, says(version))
    assert_refused(check(folder), f"is Java {version}", str(folder / "java"), "PATH")


def test_no_java_at_all_is_told(tmp_path: Path) -> None:
    assert_refused(check(tmp_path), "No Java was found", "JAVA_HOME is not set", "PATH")


def test_garbage_is_quoted(tmp_path: Path) -> None:
    assert_refused(
        check(fake_java(tmp_path, "echo 'Unable to locate a Java Runtime.' >&2; exit 1")), "Unable to locate"
    )


def test_silence_is_told(tmp_path: Path) -> None:
    assert_refused(check(fake_java(tmp_path, "exit 0")), "does not say which Java it is")


def test_a_file_that_is_no_program_is_told(tmp_path: Path) -> None:
    folder = fake_java(tmp_path, "")
    (folder / "java").write_bytes(b"\x00\x01\x02")
    assert_refused(check(folder), "cannot be started")


def test_a_java_that_hangs_is_given_up(tmp_path: Path) -> None:
    result = check(fake_java(tmp_path, "exec /bin/sleep 50"), "--timeout-s", "0.3")
    assert_refused(result, "did not answer", "0.3 s")


def test_a_note_of_the_virtual_machine_before_the_version_does_not_mislead(tmp_path: Path) -> None:
    body = "echo 'Picked up JAVA_TOOL_OPTIONS: -Dversion=8' >&2; " + says("17.0.15")
    assert check(fake_java(tmp_path, body)).returncode == 0


def test_java_home_goes_before_path(tmp_path: Path) -> None:
    new, old = fake_java(tmp_path / "new", says("21")), fake_java(tmp_path / "old", says("11"))
    assert check(old, java_home=new.parent).returncode == 0
    assert_refused(check(new, java_home=old.parent), "is Java 11", "JAVA_HOME")


def test_an_empty_java_home_counts_as_none(tmp_path: Path) -> None:
    assert check(fake_java(tmp_path, says("17")), java_home="").returncode == 0


def test_a_java_home_that_points_to_nothing_is_refused_though_path_has_a_java(tmp_path: Path) -> None:
    good = fake_java(tmp_path, says("17"))
    missing = tmp_path / "missing"
    assert_refused(check(good, java_home=missing), f"JAVA_HOME is set to {missing}", "no such folder")


def test_a_java_home_without_a_program_is_refused(tmp_path: Path) -> None:
    good = fake_java(tmp_path, says("17"))
    assert_refused(check(good, java_home=good), f"no program {good / 'bin' / 'java'}")


@pytest.mark.parametrize("source", [SCRIPT, Path(java.__file__)])
def test_it_is_written_in_python_3_8(source: Path) -> None:
    ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))
