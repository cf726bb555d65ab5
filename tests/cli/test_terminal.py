"""Nothing that others wrote may control the terminal of who looks at it."""

import csv
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks import printing
from benchmarks.result import Result
from tests.cli.conftest import Tidings
from tests.examples import thorough_but
from tidings.cli import output
from tidings.cli.checks import Check
from tidings.cli.terminal import cell, visible

EVIL = "\x1b[2J\x1b]0;mine\x07\x9b31m\r\b\u202e[red]x[/red][link=http://e]y[/link]\u200b\x7f"
_OURS = re.compile(r"\x1b\[[0-9;]*m")
"""Colours and styles, which rich writes itself."""


def is_safe(written: str) -> bool:
    """No letter of what is written does more than to be seen, or to leave a gap."""
    letters = _OURS.sub("", written.replace("\r\n", "\n"))
    return all(letter == "\n" or letter.isprintable() or unicodedata.category(letter) == "Zs" for letter in letters)


@given(st.text())
def test_what_is_visible_controls_nothing(text: str) -> None:
    found = visible(text)
    assert all(letter.isprintable() or letter.isspace() for letter in found)
    assert not any(letter in found for letter in "\x1b\x9b\x07\r\n\x85\u2028\u202e\u2066\u200b\u200d")
    console = Console(force_terminal=True, file=StringIO(), width=10_000)
    console.print(cell(text))
    assert is_safe(console.file.getvalue())  # type: ignore[attr-defined]


def test_letters_of_all_scripts_and_spaces_stay() -> None:
    for text in ("café 白宫 می हिन्दी 👉", "a\u00a0b\u3000c", "[red]x[/red]"):
        assert visible(text) == text


@pytest.fixture
def evil(tmp_path: Path) -> tuple[Path, Path]:
    """A post and a subscription whose every text is hostile."""
    posts, asked = tmp_path / "posts.parquet", tmp_path / "asked.parquet"
    pq.write_table(pa.table({"id": [EVIL, EVIL + "2"], "text": ["fire", "fire"], "topic": [None, EVIL + "//"]}), posts)
    rows = {"id": [EVIL, EVIL + "bad"], "query": ["fire", EVIL + "("], "subscriber": [EVIL] * 2, "tag": [EVIL] * 2}
    pq.write_table(pa.table(rows), asked)
    return posts, asked


@pytest.mark.parametrize("output_format", thorough_but(["table", "csv"], "table"))
def test_match_writes_no_control_characters_to_a_terminal(evil: tuple[Path, Path], output_format: str) -> None:
    main, ours = pty.openpty()
    code = "from tidings.cli.main import main; main()"
    command = [sys.executable, "-c", code, "match", *map(str, evil), "--format", output_format]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "400", "NO_COLOR": "1"}
    with subprocess.Popen(command, stdin=ours, stdout=ours, stderr=subprocess.PIPE, env=environment) as process:
        os.close(ours)
        written = b""
        while piece := _read(main):
            written += piece
        told = process.stderr.read().decode()  # type: ignore[union-attr]
    os.close(main)
    assert process.returncode == 0, told
    assert is_safe(written.decode()) and is_safe(told)
    assert "1b[2J" in written.decode() and "[red]x[/red]" in written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


def test_a_pipe_gets_the_data_as_it_is(tidings: Tidings, evil: tuple[Path, Path]) -> None:
    ran = tidings("match", *evil, "--format", "csv")
    row = next(csv.DictReader(StringIO(ran.out, newline="")))
    assert (row["publication_id"], row["subscriber"], row["tag"]) == (EVIL, EVIL, EVIL)
    assert json.loads(tidings("match", *evil, "--format", "json").out.splitlines()[0])["tag"] == EVIL
    assert is_safe(ran.err)


def test_explain_errors_and_figures_write_no_control_characters(
    tidings: Tidings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran = tidings("explain", f'name:"{EVIL[:4]}x" OR fire', "smoke", "--attribute", f"name={EVIL}", "--topic", "a")
    assert is_safe(ran.out) and is_safe(ran.err)
    ran = tidings("explain", "has:name name:>3", "x", "--attribute", f"name={EVIL}")
    assert ran.code == 0 and is_safe(ran.out) and "\\x1b[2J" in ran.out
    assert is_safe(tidings("match", tmp_path / f"no{EVIL.replace('/', '')}.csv", "x").err)
    written = StringIO()
    for module in (output, printing):
        monkeypatch.setattr(module, "Console", lambda: Console(file=written, force_terminal=True, width=2_000))
    output.print_checks([Check(EVIL, "ok", EVIL, EVIL)], "table")
    printing.print_figures(Result("a", EVIL, {EVIL: EVIL, "column": [EVIL]}), "table")
    assert is_safe(written.getvalue()) and written.getvalue().count("[red]x[/red]") == 7
