"""Large queries: what is not multiplied out is verified as it was written, and means the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.index.strategies import NOW, tables
from tests.language.strategies import ANALYSER, publications, small_queries
from tests.language.tiny import tiny
from tidings import Engine
from tidings.index import BruteForce, GuardIndex
from tidings.language import Content, covers, evaluate, holds, normal, normal_form, parse
from tidings.language.formulas import ACCEPT, REJECT, Formula
from tidings.language.guarded import guarded
from tidings.model import Publication, Query, QueryError, Subscription


@examples(500)
@given(small_queries, publications())
def test_the_ways_of_a_query_say_what_the_query_says(query: Query, publication: Publication) -> None:
    content = Content.of(publication, ANALYSER)
    ways = guarded(query, ANALYSER)
    found = any(
        all(holds(atom, content) for atom in way.required) and not any(holds(atom, content) for atom in way.forbidden)
        for way in ways
    )
    assert found == bool(tiny(query, publication))


def test_a_formula_that_many_conjunctions_have_is_filed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    program = Formula.program

    def counted(own: Formula) -> list[tuple[Any, int, int]]:
        written.append(own.size)
        return program(own)

    monkeypatch.setattr(Formula, "program", counted)
    engine = Engine()
    engine.subscribe(" ".join(f"({' OR '.join(f'{side}{n}' for n in range(300))})" for side in "abc"), id="s1")
    assert written == [300, 300]
    assert len(engine.publish(id="p1", text="a7 b250 c0")) == 1 and not engine.publish(id="p2", text="a7 c0")


@examples(300)
@given(small_queries, publications())
def test_the_program_of_a_formula_is_the_formula(query: Query, publication: Publication) -> None:
    content = Content.of(publication, ANALYSER)
    for way in guarded(query, ANALYSER):
        for formula in (atom for atom in way.required if isinstance(atom, Formula)):
            steps, step, asked = formula.program(), 0, 0
            while step >= 0:
                atom, yes, no = steps[step]
                after = yes if holds(atom, content) else no
                assert after > step or after in (ACCEPT, REJECT)
                step, asked = after, asked + 1
            assert (step == ACCEPT) == holds(formula, content) and asked <= formula.size == len(steps)


def _askable(query: Query) -> bool:
    try:
        normal_form(query, ANALYSER)
    except QueryError:
        return False
    return True


@examples(100)
@given(st.lists(small_queries, min_size=1, max_size=6), tables(), st.integers(0, 6))
def test_the_index_equals_brute_force_where_nothing_is_multiplied_out(
    queries: list[Query], table: pa.Table, late: int
) -> None:
    before, normal.MAX_TERMS = normal.MAX_TERMS, 1
    try:
        asked = [Subscription(str(n), query) for n, query in enumerate(queries) if _askable(query)]
        assume(asked)
        index, brute = GuardIndex(clock=lambda: NOW), BruteForce(clock=lambda: NOW)
        index.add(asked[late:])
        index.compact()
        index.add(asked[:late])
        brute.add(asked)
        assert index.match(table).pairs() == brute.match(table).pairs()
        index.compact()
        assert index.match(table).pairs() == brute.match(table).pairs()
    finally:
        normal.MAX_TERMS = before


@examples(200)
@given(small_queries, small_queries, publications())
def test_covering_is_sound_over_formulas(a: Query, b: Query, publication: Publication) -> None:
    before, normal.MAX_TERMS = normal.MAX_TERMS, 1
    try:
        if _askable(a) and _askable(b) and covers(a, b, ANALYSER) and evaluate(b, publication, ANALYSER):
            assert evaluate(a, publication, ANALYSER)
    finally:
        normal.MAX_TERMS = before


def test_a_large_query_comes_back_from_a_file(tmp_path: Path) -> None:
    pairs = " ".join(f"(a{n} OR b{n})" for n in range(40))
    query = f'{pairs} -("c d" e) -(f price:>5)'
    with Engine(tmp_path) as engine:
        engine.subscribe("zebra", id="t")
        engine.subscribe(query, id="s")
        engine.compact()
        engine.unsubscribe("t")
        engine.compact()
    text = " ".join(f"{'ab'[n % 2]}{n}" for n in range(40))
    with Engine(tmp_path) as engine:
        assert engine.publish(id="1", text=text)
        assert not engine.publish(id="2", text=text.replace("a6 ", ""))
        assert not engine.publish(id="3", text=f"{text} c d e")
        assert engine.publish(id="4", text=f"{text} d c e")
        assert engine.publish(id="5", text=f"{text} f", price=5)
        assert not engine.publish(id="6", text=f"{text} f", price=6)
        assert engine.explain("s", Publication("1", text)).matched


def test_there_are_never_more_conjunctions_than_atoms() -> None:
    query = parse(" ".join(f"(a{n} OR b{n} OR (c{n} d{n}))" for n in range(1_000)))
    form = normal_form(query, ANALYSER)
    assert len(form) == 3 and sum(len(each.required) for each in form) < 4_000
    negated = normal_form(parse("fire " + " ".join(f"-(a{n} b{n})" for n in range(2_000))), ANALYSER)
    assert len(negated) == 1 and not negated[0].forbidden


def test_a_large_query_that_only_excludes_is_refused() -> None:
    with pytest.raises(QueryError, match="only excludes"):
        parse(" ".join(f"-(a{n} b{n})" for n in range(600)))
    with pytest.raises(QueryError, match="at most 10,000"):
        parse(" ".join(f"x{n}" for n in range(10_001)))
