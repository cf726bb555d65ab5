"""How is a running pipeline shown? As a board on stderr, drawn anew after each batch; not at all if nobody looks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from tidings.spark.progress import Progress

RECENT = 8
MOST_MATCHERS = 16
_BAR_CELLS = 24


@dataclass(slots=True)
class Totals:
    """What a pipeline did since it was started."""

    batches: int = 0
    posts: int = 0
    matches: int = 0
    rejected: int = 0
    copies_shed: int = 0
    lost: float = 0.0
    recent: deque[Progress] = field(default_factory=lambda: deque(maxlen=RECENT))

    def add(self, progress: Progress) -> None:
        report = progress.report
        self.batches += 1
        self.posts += report.posts
        self.matches += report.matches
        self.rejected += report.rejected
        self.copies_shed += report.copies_shed
        self.lost += report.lost
        self.recent.append(progress)

    def __str__(self) -> str:
        told = f"{self.posts:,} posts in {self.batches:,} batches, {self.matches:,} matches, {self.rejected:,} rejected"
        shed = f", {self.copies_shed:,} deliveries to matchers shed with about {self.lost:,.0f} matches"
        return told + (shed if self.copies_shed else "")


@contextmanager
def board(totals: Totals, console: Console | None = None) -> Iterator[Callable[[Progress], None]]:
    """Takes the progress of each batch and shows it, if stderr is a terminal."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield totals.add
        return
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:

        def show(progress: Progress) -> None:
            totals.add(progress)
            live.update(drawn(totals), refresh=True)

        live.update(Text("waiting for the first batch", style="dim"), refresh=True)
        yield show


def drawn(totals: Totals) -> Group:
    """The last batches, the load of the matchers in the last one, and all together."""
    batches = Table(box=None, header_style="dim", pad_edge=False)
    sheds = totals.copies_shed > 0 or any(progress.report.level for progress in totals.recent)
    names = ("batch", "registry", "posts", "posts/s", "matches", "rejected", "ms", "lag")
    for name in (*names, *(("level", "shed", "lost") if sheds else ())):
        batches.add_column(name, justify="right")
    for progress in totals.recent:
        report = progress.report
        lag = "" if progress.lag is None else f"{progress.lag:,.0f}"
        shed = (report.level, report.copies_shed, round(report.lost)) if sheds else ()
        counts = (report.batch, report.version, report.posts, round(progress.rows_per_s), report.matches)
        told = [f"{count:,}" for count in (*counts, report.rejected, round(report.ms))]
        batches.add_row(*told, lag, *(f"{count:,}" for count in shed))
    return Group(batches, Text(), _loads(totals.recent[-1], sheds), Text(), Text(str(totals)))


def _loads(progress: Progress, sheds: bool) -> Table:
    """The busiest matchers, each with a bar as long as its time."""
    loads = sorted(progress.report.loads, key=lambda load: -load.ms)[:MOST_MATCHERS]
    most = max((load.ms for load in loads), default=0) or 1
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("matcher", "posts", "candidates", "matches", "ms", *(("shed", "lost") if sheds else ())):
        table.add_column(name, justify="right")
    table.add_column("")
    for load in loads:
        shed = (load.copies_shed, round(load.lost)) if sheds else ()
        counts = (load.matcher, load.posts, load.candidates, load.matches, round(load.ms), *shed)
        table.add_row(
            *(f"{count:,}" for count in counts), Text("█" * round(_BAR_CELLS * load.ms / most), style="green")
        )
    return table
