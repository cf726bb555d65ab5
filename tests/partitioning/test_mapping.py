from __future__ import annotations

import numpy as np
import pytest

from tidings.index.dictionary import Dictionary
from tidings.language.atoms import FormPrefix
from tidings.model import DataError
from tidings.model.query import Contains, EndsWith, Equals, Present, StartsWith, Topic
from tidings.partitioning import HashMapping


def every_kind() -> Dictionary:
    terms = Dictionary()
    terms.word("fire")
    terms.word("пожар")
    terms.cell(1 << 63)
    terms.slot(("price", False))
    terms.slot(("ts", True))
    terms.interval(("price", False), 3 << 62)
    terms.interval(("ts", True), 3 << 62)
    for atom in (
        FormPrefix("fi"), Equals("symbol", "YHOO"), Equals("symbol", "3e5"), StartsWith("name", "Mc"),
        EndsWith("name", "son"), Contains("name", "ab"), Present("price"), Topic(("sports", "soccer")),
        Topic(("sports", "*")),
    ):  # fmt: skip
        terms.term(atom)
    return terms


GOLDEN = {
    "": (-1, -1),
    "fire": (6, 157),
    "пожар": (0, 50),
    "cell:8000000000000000": (6, 213),
    "price#c000000000000000": (0, 159),
    "ts@c000000000000000": (0, 226),
    "fi*": (1, 95),
    "symbol=YHOO": (6, 44),
    "symbol=300000|3e5": (5, 223),
    "name=Mc*": (4, 121),
    "name=*son": (4, 85),
    "name=*ab*": (3, 221),
    "has:price": (6, 35),
    "topic:sports/soccer": (3, 69),
    "topic:sports/*": (5, 68),
}
"""The owner among 7 and among 256 matchers. Another one would lose matches between processes of two versions."""


def owners(terms: Dictionary, matchers: int) -> dict[str, int]:
    return dict(zip(terms.term_names().to_pylist(), HashMapping(matchers).owners(terms).tolist(), strict=True))


def test_names_and_their_owners_are_these_for_ever() -> None:
    terms = every_kind()
    seven, most = owners(terms, 7), owners(terms, 256)
    assert {name: (seven[name], most[name]) for name in seven} == GOLDEN


def test_a_term_keeps_its_owner_when_terms_are_numbered_anew() -> None:
    terms = every_kind()
    part, _ = terms.part(np.arange(len(terms)) % 2 == 0)
    before, after = owners(terms, 256), owners(part, 256)
    assert len(after) == (len(terms) + 1) // 2 and after.items() <= before.items()
    other = Dictionary()
    ids = other.include(part)
    ids_again = other.include(terms)
    assert owners(other, 256) == before
    names, here = terms.term_names().to_pylist(), other.term_names().to_pylist()
    assert [here[i] for i in ids_again] == names and [here[i] for i in ids] == part.term_names().to_pylist()


def test_matchers_get_about_equally_many_words() -> None:
    terms = Dictionary()
    for i in range(20_000):
        terms.word(f"word{i}")
    counts = np.bincount(HashMapping(16).owners(terms)[1:], minlength=16)
    assert counts.min() > 0.9 * counts.mean() and counts.max() < 1.1 * counts.mean()


@pytest.mark.parametrize("matchers", [0, -1, 257])
def test_too_few_or_too_many_matchers_are_refused(matchers: int) -> None:
    with pytest.raises(DataError, match="1 to 256 matchers"):
        HashMapping(matchers)
