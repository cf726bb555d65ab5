"""Subscriptions of PADRES with all operators on text: the index finds what plain Python finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.index import BruteForce
from tidings.index.guard import GuardIndex
from tidings.language import parse
from tidings.model import QueryError, Subscription

_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "eq": lambda own, asked: own == asked,
    "=": lambda own, asked: own == asked,
    "neq": lambda own, asked: own != asked,
    "<>": lambda own, asked: own != asked,
    "str-prefix": lambda own, asked: own.startswith(asked),
    "str-suffix": lambda own, asked: own.endswith(asked),
    "str-postfix": lambda own, asked: own.endswith(asked),
    "str-contains": lambda own, asked: asked in own,
    "isPresent": lambda own, asked: True,
}
_texts = st.text("abAé .", min_size=1, max_size=4).filter(lambda text: text.strip() == text)
_triples = st.tuples(st.sampled_from(["name", "symbol"]), st.sampled_from([*_OPERATORS]), _texts)
_rows = st.fixed_dictionaries({"name": st.none() | _texts, "symbol": st.none() | _texts})


@examples(200)
@given(st.lists(st.lists(_triples, min_size=1, max_size=3), min_size=1, max_size=6), st.lists(_rows, max_size=6))
def test_triples_find_what_their_operators_say(
    asked: list[list[tuple[str, str, str]]], rows: list[dict[str, str | None]]
) -> None:
    texts = [",".join(f"[{name},{operator},'{value}']" for name, operator, value in own) for own in asked]
    subscriptions = list(_readable(texts))
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in ("name", "symbol")}
    table = pa.table({"id": pa.array([str(n) for n in range(len(rows))], pa.string()), **columns})
    expected = {
        (n, str(s))
        for n, row in enumerate(rows)
        for s, own in enumerate(asked)
        if all((held := row[name]) is not None and _OPERATORS[operator](held, value) for name, operator, value in own)
    }
    for matcher in (GuardIndex(), BruteForce()):  # what is refused as a contradiction is answered by no row either
        matcher.add(subscriptions)
        assert matcher.match(table).pairs() == expected


def _readable(texts: list[str]) -> Iterator[Subscription]:
    for n, text in enumerate(texts):
        try:
            yield Subscription(str(n), parse(text, syntax="padres"))
        except QueryError as error:
            assert "requires and excludes the same thing" in error.problem


def test_a_contradiction_of_triples_is_refused() -> None:
    with pytest.raises(QueryError, match="requires and excludes the same thing"):
        parse("[name,eq,'A'],[name,neq,'A']", syntax="padres")
