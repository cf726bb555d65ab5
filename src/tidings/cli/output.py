"""How are figures and progress shown?"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tidings.cli.checks import Check
from tidings.cli.terminal import cell, lines, say, visible

REASONS = 5
"""So many reasons are told of rows that were rejected."""


@contextmanager
def progress(what: str, total: int | None, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while something long goes on; nothing where stderr is not a terminal.

    ``total`` is None where nobody knows. What is printed meanwhile still goes to stdout.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    disable = not (shown and console.is_terminal)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, disable=disable) as bars:
        task = bars.add_task(what, total=total)
        yield lambda done: bars.advance(task, done)


def tell_compiling() -> None:
    """Say on a terminal that the first match waits for the JIT compiler, if it does."""
    from tidings.index.compiling import NOTICE, is_cold  # noqa: PLC0415  # not all commands need the index

    if Console(stderr=True).is_terminal and is_cold():
        say(NOTICE, err=True)


def tell_rejected(what: str, rejected: int, total: int, reasons: list[str]) -> None:
    """How many rows could not be used, and why the first of them could not, on stderr."""
    if not rejected:
        return
    say(f"rejected {rejected:,} of {total:,} {what}s:", err=True)
    for reason in reasons[:REASONS]:
        say(f"  {visible(reason)}", err=True)
    if rejected > REASONS:
        say(f"  and {rejected - REASONS:,} more", err=True)


def print_checks(checks: list[Check], output_format: str) -> None:
    """What was looked for on this machine, on stdout."""
    rows = [asdict(check) for check in checks]
    if output_format == "json":
        typer.echo(json.dumps(rows, indent=2))
    elif output_format == "csv":
        writer = csv.DictWriter(sys.stdout, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    else:
        colours = {"ok": "green", "warning": "yellow", "bad": "red"}
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("", "looked for", "found", "what to do"):
            table.add_column(heading, overflow="fold")
        for check in checks:
            state = cell(check.state, colours[check.state])
            table.add_row(state, cell(check.name), cell(check.found), lines(check.advice))
        Console().print(table)
