"""Queries of few shapes in the small world of the language's tests, and posts that answer them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import pyarrow as pa
import pytest

from tests.language.strategies import ANALYSER, PATHS, SMALL_POLYGONS, STOP_WORDS, SYMBOLS, WORDS, random_publication
from tidings.engine import asked
from tidings.index import guard
from tidings.language import parse_normal
from tidings.language.shapes import reading
from tidings.model import QueryError

NEVER = 10**9


@contextmanager
def shapes_of(few: int) -> Iterator[None]:
    """Let groups of so many queries be read by their shape, and all tables become segments at once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "FEW", few)
        patched.setattr(guard, "FEW", 1)
        patched.setattr(asked, "FEW", 1)
        yield


def mixed_queries(rng: random.Random, count: int) -> list[str]:
    """Queries of the small world of the language's tests, of few shapes."""

    def word() -> str:
        return rng.choice((*WORDS, *WORDS, *STOP_WORDS, "Fires", "covid-19"))

    def box() -> str:
        west, east, south, north = rng.randint(0, 4), rng.randint(0, 5), rng.randint(0, 4), rng.randint(0, 5)
        return f"bounding_box:[{west} {south} {east} {north}.5]"

    def condition() -> str:
        value, bound = rng.choice((*SYMBOLS, "2", "2.0")), rng.choice(("0", "1", "2.5", "4", "-1"))
        return rng.choice((
            f"symbol:{value}", f"price:>{bound}", f"price:<={bound}", f"price:[{bound} TO 3}}", f"price:[* TO {bound}]",
            f"symbol:{value}*", f"symbol:*{value}", f"topic:{rng.choice(PATHS)}", "has:price", f'"{word()} {word()}"~1',
            f'"{word()} {word()}"', f"{word()[:2]}*", box(), word(), word(), f"symbol:({value} OR AB)",
            f"point_radius:[{rng.randint(0, 4)} {rng.randint(0, 4)} {rng.choice((1, 120, 400))}km]",
            f"polygon:{rng.choice(SMALL_POLYGONS)}",
            f"when:>=2020-01-0{rng.randint(1, 7)}", f"when:[2020-01-01 TO 2020-01-0{rng.randint(1, 7)}]",
        ))  # fmt: skip

    forms = (
        lambda: f"{word()} {word()} {box()}",
        lambda: f"({word()} OR {word()}) {box()}",
        lambda: f"({word()} OR {word()} OR {word()}) {box()} -{word()}",
        lambda: f"{condition()} {condition()}",
        lambda: f"{condition()} -{condition()}",
        lambda: f"{condition()} OR ({condition()} {condition()})",
        lambda: f"{word()} -({condition()} OR {condition()})",
        box,
        lambda: f"price:>{rng.random()} symbol:A",
    )
    return [rng.choice(forms)() for _ in range(count)]


def mixed_posts(rng: random.Random, count: int) -> pa.Table:
    posts = [random_publication(rng) for _ in range(count)]
    texts = [post.text + rng.choice(("", " covid 19")) for post in posts]
    return pa.table({
        "id": [f"p{row}" for row in range(count)],
        "text": texts,
        "lat": pa.array([post.lat for post in posts], pa.float64()),
        "lon": pa.array([post.lon for post in posts], pa.float64()),
        "topic": pa.array([list(post.topics) for post in posts], pa.list_(pa.string())),
        "when": pa.array([datetime(2020, 1, rng.randint(1, 7)) for _ in range(count)], pa.timestamp("us", tz="UTC")),
        "symbol": [rng.choice((*SYMBOLS, "AB", None)) for _ in range(count)],
        "price": pa.array([rng.choice((0, 0.5, 1, 2, 2.5, 3, 4, None)) for _ in range(count)], pa.float64()),
    })  # fmt: skip


def valid(queries: list[str]) -> list[str]:
    found = []
    for query in queries:
        try:
            parse_normal(query, analyser=ANALYSER)
        except QueryError:
            continue
        found.append(query)
    return found
