"""How are the figures of a benchmark shown?"""

from __future__ import annotations

import csv
import json
import sys
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.result import Result
from tidings.cli.terminal import cell


def print_figures(result: Result, output_format: str) -> None:
    """The figures of a benchmark on stdout."""
    if output_format == "json":
        typer.echo(json.dumps(result.record(), indent=2))
    elif output_format == "csv":
        _print_csv(result)
    else:
        _print_tables(result)


def _print_csv(result: Result) -> None:
    """A line for each figure; where figures are columns, a line for each of their rows, with all else in it."""
    writer = csv.writer(sys.stdout)
    columns = _columns(result)
    if not columns:
        writer.writerow(["figure", "value"])
        writer.writerows(result.figures.items())
        return
    rows = range(len(next(iter(columns.values()))))
    writer.writerow(result.figures)
    writer.writerows(
        [columns[name][row] if name in columns else value for name, value in result.figures.items()] for row in rows
    )


def _print_tables(result: Result) -> None:
    """The single figures in one table, columns in another."""
    columns = _columns(result)
    table = Table("figure", title=cell(f"{result.name}: {result.dataset}", "table.title"), title_justify="left")
    table.add_column("value", justify="right")
    for name, value in result.figures.items():
        if name not in columns:
            table.add_row(cell(name.replace("_", " ")), cell(_shown(value)))
    Console().print(table)
    if columns:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name, values in columns.items():
            widest = max(len(_shown(value)) for value in values)
            table.add_column(name.replace("_", " "), justify="right", overflow="fold", min_width=widest)
        for row in zip(*columns.values(), strict=True):
            table.add_row(*(cell(_shown(value)) for value in row))
        Console().print(table)


def _columns(result: Result) -> dict[str, list[Any]]:
    return {name: value for name, value in result.figures.items() if isinstance(value, list)}


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
