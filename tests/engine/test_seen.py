"""What is registered by shape cannot be told from what is registered one by one."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.index.mixed import NEVER, mixed_posts, mixed_queries, shapes_of
from tests.index.strategies import NOW
from tests.language.fuzz import VALID, one_input
from tidings import Engine, Publication
from tidings.tables.rows import publications


@pytest.mark.parametrize("in_folder", [False, True])
def test_all_that_can_be_seen_of_an_engine_is_the_same(in_folder: bool, tmp_path: Path) -> None:
    rng = random.Random(5)
    hostile = [one_input(rng).encode("utf-8", "replace").decode() for _ in range(150)]
    queries = [*mixed_queries(rng, 250), *hostile, *VALID, "", "x:>1e5", "price:>nan", "bounding_box:[3 1 2 4]"]
    rng.shuffle(queries)
    posts, seen = mixed_posts(rng, 40), []
    explained = [post for post in publications(posts.slice(0, 5)) if isinstance(post, Publication)]
    ids = [f"s{n % 380}" for n in range(len(queries))]  # some come twice
    for few in (1, NEVER):
        with shapes_of(few), Engine(tmp_path / str(few) if in_folder else None, clock=lambda: NOW) as engine:
            receipt = engine.subscribe_many(pa.table({"id": ids, "query": queries}))
            asked_for = {name: engine.subscription(name) for name in ids}
            matches = engine.match(posts).pairs()
            known = [name for name in ids if name in engine]
            reasons = [engine.explain(name, post) for name in known[:50] for post in explained]
            seen.append((receipt.accepted, receipt.rejected, asked_for, len(engine), matches, reasons))
    assert seen[0] == seen[1]
    assert seen[0][0] > 150 and len(seen[0][1]) > 100 and len(seen[0][4]) > 500
