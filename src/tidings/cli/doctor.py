"""``tidings doctor``: is everything here that tidings needs, and if not, what is to be done?"""

from __future__ import annotations

from typing import Annotated

import typer

from tidings.cli.format import Format

EXAMPLE = "Example: tidings doctor --start"


def doctor(
    start: Annotated[
        bool, typer.Option("--start", help="Also start Spark and let a worker match; half a minute.")
    ] = False,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
) -> None:
    """Look for what tidings needs, tell what to do about the rest; exit code 1 if something cannot work."""
    from tidings.cli.checks import all_checks, started  # noqa: PLC0415  # only when they are needed
    from tidings.cli.output import print_checks, progress  # noqa: PLC0415

    with progress("looking", None):
        found = [check() for check in (*all_checks(), *([started] if start else []))]
    print_checks(found, output_format)
    if any(check.state == "bad" for check in found):
        raise typer.Exit(1)
