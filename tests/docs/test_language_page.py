"""Every example of docs/language.md is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidings.language import parse, to_text
from tidings.model import QueryError

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


def test_the_tables_are_found() -> None:
    assert len(ASKED) > 25 and len(TRIPLES) == 4 and len(REFUSED) > 55


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
