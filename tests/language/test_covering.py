from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.language.strategies import (
    ATOM_KINDS,
    is_askable,
    publications,
    random_publication,
    small_atoms,
    small_queries,
)
from tests.language.tiny import tiny
from tidings.analysis import ENGLISH
from tidings.language import covers, evaluate, parse
from tidings.language.formulas import Formula
from tidings.language.normal import normal_form
from tidings.model import (
    And,
    Circle,
    Equals,
    Not,
    Or,
    Phrase,
    Publication,
    Query,
    Range,
    Rectangle,
    Topic,
    Within,
    Word,
)


@st.composite
def _likely_covered(draw: st.DrawFn) -> tuple[Query, Query]:
    """Two conjunctions over few atoms of one kind, so that one often follows from the other, or nearly does."""
    kind = draw(st.sampled_from(sorted(ATOM_KINDS)))
    pool = draw(st.lists(ATOM_KINDS[kind], min_size=1, max_size=3))
    pool += draw(st.lists(small_atoms, max_size=1))
    signed = st.sampled_from(pool).flatmap(lambda atom: st.sampled_from([atom, atom, Not(atom)]))
    conjunctions = st.lists(signed, min_size=1, max_size=3).map(lambda c: And(tuple(c)) if len(c) > 1 else c[0])
    queries = conjunctions.filter(is_askable)
    return draw(queries), draw(queries)


POSTS = tuple(random_publication(random.Random(seed)) for seed in range(600))


@pytest.mark.thorough
def test_covering_is_sound_and_says_yes_often_enough_to_tell() -> None:
    """A yes is seen to be right only where some post answers the narrower query: such ones are counted."""
    told = Counter[str]()

    @settings(max_examples=700)  # all of them always: so many are needed to tell
    @given(_likely_covered())
    def sound(pair: tuple[Query, Query]) -> None:
        a, b = pair
        if a == b:
            return
        answering = [post for post in POSTS if evaluate(b, post)]
        if covers(a, b):
            told["yes"] += bool(answering)
            assert not [post for post in answering if not evaluate(a, post)]
        else:
            told["no"] += 1

    sound()
    assert min(told["yes"], told["no"]) >= 70, told


@examples(300)
@given(st.data(), small_queries, st.lists(publications(), min_size=1, max_size=5))
def test_covering_is_sound_for_any_two_queries(data: st.DataObject, b: Query, posts: list[Publication]) -> None:
    """One is made from the other, so that often it covers it, or would by a mistake."""
    kept = data.draw(small_queries)
    a = data.draw(st.sampled_from([b, Or((b, kept)), And((b, kept)), *(b.children if isinstance(b, And | Or) else ())]))
    assume(is_askable(a))
    if covers(a, b):
        assert not [post for post in (*posts, *POSTS[:100]) if evaluate(b, post) and not evaluate(a, post)]


@examples(300)
@given(small_queries)
def test_every_query_covers_itself(query: Query) -> None:
    assert covers(query, query)


@examples(300)
@given(small_queries, small_queries)
def test_or_covers_its_parts_and_a_part_covers_and(a: Query, b: Query) -> None:
    both, either = And((a, b)), Or((a, b))
    assume(is_askable(both) and is_askable(either))
    assume(is_multiplied_out(both) and is_multiplied_out(either))
    assert covers(a, both) and covers(either, a)


def is_multiplied_out(query: Query) -> bool:
    """Whether its normal form has no formulas: of those that covering may say no where yes is true."""
    form = normal_form(query, ENGLISH)
    return not any(isinstance(atom, Formula) for each in form for atom in (*each.required, *each.forbidden))


# Completeness, against all publications of a small grid. Bounds are whole numbers, so halves separate them.
_WORDS = ("fire", "smoke")
_GRID = [x / 2 for x in range(-1, 8)]
_TOPICS = ("a", "a/b", "a/b/c", "a/x", "a/x/c", "x", "x/b", "b/b")
_whole = st.integers(0, 2).map(float)


@st.composite
def _interval(draw: st.DrawFn) -> Range:
    low, high = sorted((draw(_whole), draw(_whole)))
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return Range("n", low=low, low_included=draw(st.booleans()))
    if kind == 1:
        return Range("n", high=high, high_included=draw(st.booleans()))
    high += low == high  # of one value it is an equality
    return Range("n", low, high, draw(st.booleans()), draw(st.booleans()))


@st.composite
def _box(draw: st.DrawFn) -> Within:
    west, east = sorted((draw(_whole), draw(_whole)))
    return Within(Rectangle(west, 0.0, east, draw(_whole)))


_atoms: dict[str, st.SearchStrategy[Query]] = {
    "word": st.sampled_from(_WORDS).map(Word),
    "equal": st.builds(Equals, st.just("s"), st.sampled_from(["A", "B"])),
    "range": _interval(),
    "box": _box(),
    "topic": st.sampled_from(["a", "a/b", "a/*/c", "*/b", "x"]).map(lambda p: Topic(tuple(p.split("/")))),
}


@st.composite
def _pair(draw: st.DrawFn) -> tuple[Query, Query, tuple[str, ...]]:
    kinds = tuple(draw(st.lists(st.sampled_from(sorted(_atoms)), min_size=1, max_size=2, unique=True)))
    atoms = st.one_of([_atoms[kind] for kind in kinds])
    conjunctions = st.lists(atoms, min_size=1, max_size=3).map(lambda c: And(tuple(c)) if len(c) > 1 else c[0])
    return draw(conjunctions), draw(conjunctions), kinds


def _up_to(count: int, values: list[Any]) -> list[tuple[Any, ...]]:
    """All ways for an attribute to have at most so many of some values: a query asks for three at most."""
    return [some for size in range(count + 1) for some in itertools.combinations(values, size)]


def _grid(kinds: tuple[str, ...]) -> Iterator[Publication]:
    """Every publication that the atoms of these kinds can tell apart."""
    texts = ["", "fire", "smoke", "fire smoke"] if "word" in kinds else [""]
    symbols = _up_to(3, ["A", "B", "C"]) if "equal" in kinds else [()]
    numbers = _up_to(3, _GRID) if "range" in kinds else [()]
    places = [None, *itertools.product(_GRID[1:], _GRID[1:])] if "box" in kinds else [None]
    sets: list[tuple[str, ...]] = [()]
    if "topic" in kinds:
        sets += [(t,) for t in _TOPICS] + list(itertools.combinations(_TOPICS, 2))
    for text, symbol, number, place, topics in itertools.product(texts, symbols, numbers, places, sets):
        lon, lat = place if place is not None else (None, None)
        yield Publication("p", text, lat=lat, lon=lon, topics=topics, attributes={"s": symbol, "n": number})


@examples(250)
@given(_pair())
def test_covering_of_conjunctions_is_complete(pair: tuple[Query, Query, tuple[str, ...]]) -> None:
    a, b, kinds = pair
    truly = all(evaluate(a, p) for p in _grid(kinds) if evaluate(b, p))
    assert covers(a, b) == truly


def test_covering_of_phrases_is_sound_and_nearly_complete() -> None:
    """All phrases of up to three of two words, against all texts of up to five of three, by the tiny evaluator."""
    words = ("fire", "smoke", "rain")
    texts = [" ".join(text) for n in range(1, 6) for text in itertools.product(words, repeat=n)]
    posts = [Publication("p", text) for text in texts]
    asked = [" ".join(phrase) for n in (1, 2, 3) for phrase in itertools.product(words[:2], repeat=n)]
    phrases = [Phrase(text, slop) for text in asked for slop in (0, 1, 2)]
    found = {phrase: frozenset(post.text for post in posts if tiny(phrase, post)) for phrase in phrases}
    truly = {(a, b) for a in phrases for b in phrases if found[b] <= found[a]}
    answered = {(a, b) for a in phrases for b in phrases if covers(a, b)}
    assert answered <= truly
    assert len(answered) > 0.85 * len(truly) and len(truly) > 2 * len(phrases)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("symbol:YHOO", "symbol:YHOO volume:>300000", True),
        ("volume:>=300000", "volume:>300000", True),
        ("volume:>300000", "volume:>=300000", False),
        ("volume:3e5", "volume:300000", True),
        ("volume:300000", "volume:[3e5 TO 3e5]", True),
        ("volume:[3e5 TO 3e5]", "volume:300000", True),
        ("has:volume", "volume:>1", True),
        ("name:M*", "name:Mc*", True),
        ("name:M*", "name:McDonald", True),
        ("name:5*", "name:55", False),  # the number 55 begins with no text
        ("fire", '"forest fires"', True),
        ('"forest fire"~2', '"forest fire"', True),
        ('"forest fire"', '"forest fire"~2', False),
        ("terr*", "terror*", True),
        ("fire OR smoke", "smoke OR fire", True),
        ("fire -drill", "fire -drill -test", True),
        ("fire -drill", "fire", False),
        ("fire -symbol:A", "fire symbol:B", False),  # a post may have both symbols
        ("fire -id:A", "fire id:B", True),  # but only one id
        ("topic:a/*", "topic:a/b/c", True),
        ("lat:>=0", "bounding_box:[0 0 1 1]", True),
        ("bounding_box:[-1 -1 1 1]", "point_radius:[0 0 50km]", True),
        ("point_radius:[0 0 60km]", "point_radius:[0 0.05 50km]", True),
        ("anything", "price:<1 price:>2", False),  # two prices answer the second
        ("anything", "lat:<1 lat:>2", True),  # nothing is at two places
        ("price:[2 TO 3]", "price:>=2 price:<=3", False),  # one price of 1, another of 4
        ("price:>=2 price:<=3", "price:[2 TO 3]", True),
        ("lat:[2 TO 3]", "lat:>=2 lat:<=3", True),
        ("anything", "symbol:A symbol:B", False),
        ("symbol:A", "symbol:A symbol:B", True),
        ("name:*ab*", "name:a* name:*b", False),
        ("fire -price:<3", "fire price:>5", False),
        ("fire -price:<3", "fire -price:<5", True),
        ("anything", "id:7 id:>3", True),  # an id is text, and lies in no range
        ("ts:>=2019-01-01", "ts:2020-01-01T00:00:00Z", True),  # ts is an instant, so its text says which
        ('"forest fire"~1', '"forest fire"~5', False),
        ('"forest fire"~5', '"forest fire"~1', True),
        ("name:*Mc", "name:Mc*", False),
        ("name:*Mc*", "name:Mc*", True),
        ("point_radius:[0 0 60km]", "point_radius:[5 5 50km]", False),
        ("ts:>2020-01-01", "ts:>=2020-01-01", False),
        ("ts:>=2020-01-01", "ts:>2020-01-01", True),
        ("n:9007199254740992", "n:[9007199254740992 TO 9007199254740992]", False),  # also the float of ...993
        ("n:5", "n:[5 TO 5]", True),
        ("n:>4", "n:[5 TO 5]", False),  # the text "5" is equal, too
        ("lat:>4", "lat:[5 TO 5]", True),
        ("fire -drill", "fire -test", False),
        ('"fire fire"~3', '"fire smoke"', False),  # one fire is not two
        ('"fire fire"~3', '"fire smoke fire"', True),
        ('"fire smoke"~3', '"smoke fire"~1', True),
        ('"fire smoke"~2', '"smoke fire"~1', False),  # smoke, rain, fire: moved by three
        ('"fire smoke"', '"rain fire smoke"', True),
        ('"fire smoke"', '"fire rain smoke"', False),
    ],
)
def test_worked_examples(a: str, b: str, answer: bool) -> None:
    assert covers(parse(a), parse(b)) is answer


def test_circles_are_sound_at_the_other_end_of_the_earth() -> None:
    """Where a less careful formula for distances is off by a decimetre."""
    whole = Circle(0, 90, 20_015_113.709281128)
    post = Publication("p", lat=-89.9999934162883, lon=10.0)
    narrow: Query = Range("lat", low=whole.bounds()[0].south)
    assert not covers(narrow, Within(whole)) or evaluate(narrow, post) or not evaluate(Within(whole), post)
    wide, other = Within(Circle(0, 0, 20_015_114.16468594)), Within(Circle(104.618495869341, 0, 8_382_052.112582935))
    far = Publication("p", lat=0.0, lon=179.99999730236277)
    assert not covers(wide, other) or evaluate(wide, far) or not evaluate(other, far)
