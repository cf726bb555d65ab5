"""Do eight threads on one engine get each publication once, as past or as future, while parts become files?"""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from tidings.engine import Engine
from tidings.language import evaluate, parse
from tidings.model import Publication
from tidings.storage import kept

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
WORDS = "fire smoke drill".split()
QUERIES = ["fire", "fire -drill", "smoke OR drill", '"fire smoke"', "smo* fire", '"drill fire" -smoke']
PUBLISHERS = SUBSCRIBERS = 4
POSTS, TABLE_POSTS, ASKED = 240, 6, 25
Pair = tuple[str, str]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads change often, and parts are small."""
    monkeypatch.setattr(kept, "PART_BYTES", 20_000)
    monkeypatch.setattr(kept, "BLOCK", 64)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@cache
def answers(query: str, text: str) -> bool:
    return evaluate(parse(query), Publication("p", text))


def publisher(engine: Engine, number: int, texts: dict[str, str], found: list[Pair]) -> None:
    """Posts one by one, and now and then some as a table."""
    rng = random.Random(number)
    for post in range(POSTS):
        names = [f"p{number}-{post}-{row}" for row in range(TABLE_POSTS if post % 8 == 0 else 1)]
        own = [" ".join(rng.choices(WORDS, k=3)) for _ in names]
        texts |= zip(names, own, strict=True)
        matches = (
            engine.publish(id=names[0], text=own[0])
            if len(names) == 1
            else engine.match(pa.table({"id": names, "text": own}))
        )
        found += [(match.publication_id, match.subscription_id) for match in matches]


def subscriber(engine: Engine, number: int, asked: dict[str, str], found: list[Pair]) -> None:
    """Subscriptions that begin before everything."""
    for count in range(ASKED):
        name = f"s{number}-{count}"
        asked[name] = QUERIES[(number + count) % len(QUERIES)]
        past = engine.subscribe(asked[name], id=name, since=LONG_AGO).past
        found += [(match.publication_id, name) for match in past]


@pytest.mark.thorough
@pytest.mark.parametrize("in_folder", [False, True])
def test_eight_threads_get_every_match_once(tmp_path: Path, in_folder: bool) -> None:
    texts: list[dict[str, str]] = [{} for _ in range(PUBLISHERS)]
    asked: list[dict[str, str]] = [{} for _ in range(SUBSCRIBERS)]
    found: list[list[Pair]] = [[] for _ in range(PUBLISHERS + SUBSCRIBERS)]
    with Engine(tmp_path if in_folder else None, keep=timedelta(days=1)) as engine:
        works: list[Callable[[], None]] = []
        for number in range(PUBLISHERS):
            works.append(lambda n=number: publisher(engine, n, texts[n], found[n]))  # type: ignore[misc]
        for number in range(SUBSCRIBERS):
            works.append(lambda n=number: subscriber(engine, n, asked[n], found[PUBLISHERS + n]))  # type: ignore[misc]
        threads = [threading.Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    posts = {name: text for own in texts for name, text in own.items()}
    queries = {name: query for own in asked for name, query in own.items()}
    assert len(posts) > PUBLISHERS * POSTS and len(queries) == SUBSCRIBERS * ASKED
    expected = {(p, s): 1 for s, query in queries.items() for p, text in posts.items() if answers(query, text)}
    assert Counter(pair for own in found for pair in own) == Counter(expected)
    assert min(sum(map(len, found[:PUBLISHERS])), sum(map(len, found[PUBLISHERS:]))) > 0  # futures, and pasts
