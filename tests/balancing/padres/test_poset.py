from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.balancing.padres.plain_poset import PlainPoset
from tidings.balancing.padres.poset import Poset
from tidings.language import covers, parse
from tidings.model import Query

Box = tuple[int, int, int]
"""A range of numbers, and a tag that makes equal ranges different."""


def box_covers(a: Box, b: Box) -> bool:
    return a[0] <= b[0] and b[1] <= a[1]


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    low = draw(st.integers(0, 5))
    return low, draw(st.integers(low, 6)), draw(st.integers(0, 1))


def box_excludes(a: Box, b: Box) -> bool:
    return a[1] < b[0] or b[1] < a[0]


@given(st.lists(st.tuples(st.booleans(), boxes()), max_size=40), st.sampled_from([None, box_excludes]))
def test_a_poset_equals_a_plain_one_while_keys_come_and_go(
    steps: list[tuple[bool, Box]], excludes: Callable[[Box, Box], bool] | None
) -> None:
    poset, plain = Poset(box_covers, excludes), PlainPoset(box_covers)
    for adds, key in steps:
        if adds:
            poset.add(key)
            plain.add(key)
        elif key in poset:
            assert poset.remove(key) == plain.remove(key)
        assert set(poset) == set(plain.keys)
        assert poset.css == plain.css
        assert all(poset.children(each) == plain.children(each) for each in poset)


def test_what_covers_a_key_is_found_at_the_top() -> None:
    poset = Poset(box_covers)
    for key in [(0, 4, 0), (1, 3, 0), (5, 6, 0)]:
        poset.add(key)
    assert poset.covering((1, 2, 0)) == (0, 4, 0)
    assert poset.covering((0, 4, 0)) is None
    assert poset.is_top((5, 6, 0))
    assert not poset.is_top((1, 3, 0))
    assert len(poset) == 3


STOCKS = {
    "any": "[class,=,'STOCK']",
    "yhoo": "[class,=,'STOCK'],[symbol,=,'YHOO']",
    "yhoo-large": "[class,=,'STOCK'],[symbol,=,'YHOO'],[volume,>,300000]",
    "large": "[class,=,'STOCK'],[volume,>,300000]",
    "sports": "[class,=,'SPORTS']",
}


@pytest.fixture
def stocks() -> Poset[str]:
    """As in [PADRES] Fig. 2: equal, superset, subset, intersecting and empty relationships."""
    queries: dict[str, Query] = {name: parse(text, syntax="padres") for name, text in STOCKS.items()}
    poset: Poset[str] = Poset(lambda a, b: covers(queries[a], queries[b]))
    for name in reversed(STOCKS):
        poset.add(name)
    return poset


def test_the_css_is_the_top(stocks: Poset[str]) -> None:
    assert stocks.css == {"any", "sports"}
    assert stocks.children("any") == {"yhoo", "large"}
    assert stocks.children("yhoo") == stocks.children("large") == {"yhoo-large"}


def test_what_a_removed_one_had_covered_comes_to_the_top(stocks: Poset[str]) -> None:
    assert stocks.remove("any") == {"yhoo", "large"}
    assert stocks.remove("yhoo") == set()
    assert stocks.remove("large") == {"yhoo-large"}
