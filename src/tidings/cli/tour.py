"""``tidings tour``: what do queries look like, what do they match, and why?"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidings.analysis import Analyser
from tidings.cli.terminal import cell, visible
from tidings.language import Content, covers, evaluate_content, explain, normal_form, parse, to_text
from tidings.model import Publication, QueryError, Rejected, Subscription
from tidings.tables import publications
from tidings.workloads import Posts

QUERIES = {
    "ann": "(fire OR smoke) -drill",
    "bob": "(traffic OR crash OR delay) bounding_box:[150.5 -34.5 151.9 -33.2]",
    "cem": "topic:sports likes:>=20",
    "dee": "infla* OR unemployment",
    "eva": "topic:traffic/* point_radius:[-0.13 51.51 60km]",
    "fay": '"white house" OR topic:politics/budget -tax has:lat',
    "gus": "lang:(es OR pt) topic:weather",
}
REFUSED = ("fire && smoke", "-drill", "likes:>many", '"white house')
SHOWN_PER_QUERY = 2


@dataclass(frozen=True, slots=True)
class _Found:
    subscription: Subscription
    publication: Publication
    why: str


def tour(console: Console, count: int, seed: int) -> None:
    analyser = Analyser()
    console.rule("[bold]1. People leave standing queries")
    subscriptions = [Subscription(who, parse(text), subscriber=who) for who, text in QUERIES.items()]
    _show_queries(console, subscriptions, analyser)
    console.rule("[bold]2. What makes no sense is refused, with the place and a way out")
    _show_refused(console)
    console.rule(f"[bold]3. {count:,} posts flow by")
    began = time.perf_counter()
    found = _matches(subscriptions, _posts(count, seed), analyser)
    spent_s = time.perf_counter() - began
    _show_matches(console, found)
    console.rule("[bold]4. One query can cover another")
    wide, narrow = parse("fire"), parse("fire smoke -drill")
    console.print(f"  '{to_text(wide)}' covers '{to_text(narrow)}': {'yes' if covers(wide, narrow) else 'no'}\n")
    reached = len({match.publication.id for match in found})
    console.print(f"{len(found):,} matches: {reached:,} of {count:,} posts reached somebody, in {spent_s:.1f} s.")


def _show_queries(console: Console, subscriptions: list[Subscription], analyser: Analyser) -> None:
    table = Table("who", "asks for", box=None, header_style="dim", pad_edge=True)
    table.add_column("alternatives", justify="right")
    for subscription in subscriptions:
        alternatives = len(normal_form(subscription.query, analyser))
        table.add_row(cell(subscription.id), cell(to_text(subscription.query)), str(alternatives))
    console.print(table, "")


def _show_refused(console: Console) -> None:
    for text in REFUSED:
        try:
            parse(text)
        except QueryError as error:
            console.print(Text(f"  {text}\n  {' ' * ((error.column or 1) - 1)}^ {error}"), style="yellow")
    console.print()


def _posts(count: int, seed: int) -> list[Publication]:
    rows = publications(Posts(seed=seed).table(count))
    return [row for row in rows if not isinstance(row, Rejected)]


def _matches(subscriptions: list[Subscription], posts: list[Publication], analyser: Analyser) -> list[_Found]:
    """By the reference evaluation, every query against every post: enough for a tour."""
    found = []
    for post in posts:
        content = Content.of(post, analyser)
        for subscription in subscriptions:
            if evaluate_content(subscription.query, content, analyser):
                why = "; ".join(explain(subscription.query, post, analyser).reasons)
                found.append(_Found(subscription, post, why))
    return found


def _show_matches(console: Console, found: list[_Found]) -> None:
    totals = Counter(match.subscription.id for match in found)
    shown: Counter[str] = Counter()
    table = Table("who", "post", "why it matched", header_style="dim", box=None, pad_edge=True)
    for match in sorted(found, key=lambda match: match.subscription.id):
        who = match.subscription.id
        shown[who] += 1
        if shown[who] <= SHOWN_PER_QUERY:
            post = Text(visible(match.publication.text), overflow="ellipsis")
            table.add_row(cell(who), post, cell(match.why, "green"))
    console.print(table)
    console.print("  " + ", ".join(f"{who}: {totals[who]}" for who in QUERIES) + "\n", style="dim")
