"""Every example of docs/language.md is run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from tidings.analysis import ENGLISH, Fields
from tidings.language import normal_form, parse, to_text
from tidings.model import Not, Query, QueryError
from tidings.registry.habits import habits_of

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The rows of the first table after a line that begins so."""
    table = re.search(r"(?m)^\|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE[PAGE.index(heading) :])
    assert table is not None, heading
    cells = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in table[1].splitlines()]
    return [[cell.strip().replace(r"\|", "|") for cell in row] for row in cells]


ASKED = [text for row in rows("## What can be asked") for text in re.findall(r"`([^`]+)`", row[1])]
TRIPLES = [[cell.strip("`") for cell in row] for row in rows("PADRES triples")]
REFUSED = rows("## What is refused")
HABITS = [
    (*(cell.strip("`") for cell in row[:2]), row[2])
    for page in ("X", "Lucene")
    for row in rows(f"## Coming from {page}")
]


def test_the_tables_are_found() -> None:
    assert len(ASKED) > 25 and len(TRIPLES) == 4 and len(REFUSED) > 55
    assert len(HABITS) > 185


def test_the_times_are_those_of_the_fuzzers() -> None:
    results = Path(__file__).parents[2] / "docs" / "results"
    page = " ".join(PAGE.split())
    for name, told in (
        (
            "fuzz-language",
            "the slowest takes {slowest_ms:.0f} ms to read, with 64 KB of conditions; {over_limit} take more than 50 "
            "ms. The largest that there are take up to {largest_ms:.0f} ms to read and {subscribed_ms:.0f} ms to "
            "subscribe.",
        ),
        (
            "fuzz-patterns",
            "the slowest takes {slowest_ms:.0f} ms with values of 1,000 characters; {over_limit} take more than 50 ms.",
        ),
    ):
        figures = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))["figures"]
        assert told.format(**figures) in page and f"{figures['count']:,} hostile" in page
        assert figures["count"] == 1_000_000 and figures["failures"] == []


@pytest.mark.parametrize("text", ASKED)
def test_what_can_be_asked_is_read_and_written_again(text: str) -> None:
    query = parse(text)
    assert parse(to_text(query)) == query


@pytest.mark.parametrize(("triples", "text"), TRIPLES)
def test_triples_mean_what_the_page_says(triples: str, text: str) -> None:
    assert parse(triples, syntax="padres") == parse(text)


@pytest.mark.parametrize(("expression", "message"), REFUSED)
def test_what_is_refused_is_told_as_the_page_says(expression: str, message: str) -> None:
    text = eval(expression.strip("`"))  # an expression of our own page
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(("form", "here", "meaning"), HABITS)
def test_habits_mean_what_the_page_says(form: str, here: str, meaning: str) -> None:
    kind = meaning.split(maxsplit=1)[0].strip(":;,")
    instead = parse(here)
    if kind == "refused":
        with pytest.raises(QueryError, match=r"; |: |'"):
            parse(form)
    elif kind == "same":
        assert normal_form(parse(form), ENGLISH) == normal_form(instead, ENGLISH)
    else:
        assert kind == "needs"
        [name] = re.findall(r"attribute `(\w+)`", meaning)
        assert name in _attributes(parse(form)) and name in _attributes(instead)


@pytest.mark.parametrize("form", [row[0].strip("`") for row in rows("## Coming from X") if row[2].startswith("needs")])
def test_who_subscribes_with_an_operator_of_x_is_warned(form: str) -> None:
    assert habits_of(pa.array([form]), Fields())


def _attributes(query: Query) -> set[str]:
    """The attributes that a query asks about."""
    parts = getattr(query, "children", None) or ([query.child] if isinstance(query, Not) else [])
    return {getattr(query, "name", "")} | {name for part in parts for name in _attributes(part)}
