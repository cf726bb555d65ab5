"""What do commands have in common: options, and how figures are kept and told?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidings.cli.format import Format

if TYPE_CHECKING:
    from benchmarks.result import Result

MADE_UP = "made-up posts"

Subscriptions = Annotated[int, typer.Option(min=1, help="How many ask.")]
Rounds = Annotated[int, typer.Option(min=1, help="How often it is measured; the best and the median are told.")]
Data = Annotated[
    Path | None, typer.Option(help="Folder with tweets, traffic and stocks .parquet; made-up posts without.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the subscriptions, and of made-up posts.")]
HowToPrint = Annotated[Format, typer.Option("--format", help="How to print.")]
Save = Annotated[Path | None, typer.Option(help="Also write the figures with their origin to this file.")]


def tell(
    name: str, data: Path | None, figures: dict[str, Any], seed: int, output_format: Format, save: Path | None
) -> None:
    """Print the figures, and write them to a file if asked."""
    from benchmarks.printing import print_figures

    print_figures(kept(name, "real files" if data else MADE_UP, seed, save, figures), output_format)


def kept(name: str, dataset: str, seed: int | None, save: Path | None, figures: dict[str, Any]) -> Result:
    """The figures with their origin, also in a file if there is one."""
    from benchmarks.result import Result

    result = Result(name, dataset, figures, seed)
    if save:
        result.save(save)
    return result
