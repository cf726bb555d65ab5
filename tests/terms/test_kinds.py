"""The contract of kinds of terms, for each kind that is registered, and for one that a test registers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from tidings.analysis import ENGLISH, Analyser
from tidings.language.atoms import AttributeWords, FieldPrefix, FieldWords, FoldedTag, FormPrefix, Sequence
from tidings.model import Publication
from tidings.model.query import Contains, EndsWith, Equals, InNetwork, Present, Regex, StartsWith, Topic, Wildcard
from tidings.tables.checked import Publications
from tidings.terms import dictionary as module
from tidings.terms.dictionary import Dictionary
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds import KINDS, OF_ATOM, Kind, TermAtom
from tidings.terms.kinds.kind import Key, Reading
from tidings.terms.pairs import Pairs
from tidings.terms.reader import TermReader

ASKED: list[TermAtom] = [
    FormPrefix("terr"),
    FormPrefix("te"),
    Equals("symbol", "YHOO"),
    Equals("price", "1.0"),
    Equals("tags", "b"),
    StartsWith("symbol", "Y"),
    EndsWith("symbol", "O"),
    Contains("tags", "b"),
    Contains("symbol", "hO", folded=True),
    Equals("symbol", "yhoO", folded=True),
    Wildcard("symbol", ("Y", "O", ""), ("*", "?")),
    Wildcard("symbol", ("y", "o", ""), ("*", "?"), folded=True),
    Regex("symbol", "[A-Z]+O"),
    Regex("symbol", ".*h.*", folded=True),
    FieldWords("title", Sequence(("terror", "tea"), (0, 1))),
    FieldWords("title", Sequence(("terror", "tea"), (0, 1), slop=2)),
    FieldPrefix("title", FormPrefix("terr")),
    AttributeWords(Sequence(("tea",))),
    AttributeWords(Sequence(("terror", "tea"), (0, 1))),
    InNetwork("tags", "10.0.0.0/8"),
    InNetwork("tags", "2001:db8::/32"),
    FoldedTag("#tea"),
    FoldedTag("$bhp"),
    FoldedTag("@nswrfs"),
    Present("symbol"),
    Present("topic"),
    Topic(("sports",)),
    Topic(("sports", "*", "final")),
]
ROWS: list[dict[str, object]] = [
    {
        "id": "1",
        "text": "terror, tea #Tea $BHP",
        "title": "Terror tea",
        "symbol": "YHOO",
        "price": 1.0,
        "tags": ["a", "b", "10.1.2.3", "tea"],
        "topic": "sports/x/final",
    },
    {
        "id": "2",
        "title": "tea and terror",
        "text": "territory @NSWRFS: ＃tea",
        "symbol": "O",
        "price": 2.0,
        "tags": ["bb", "b", "2001:db8::1", "10.1.2.3.4"],
        "topic": "sports",
    },
    {"id": "3", "text": "", "symbol": "Y", "price": None, "tags": [], "topic": "arts/sports"},
    {"id": "4", "text": "nothing", "symbol": None, "price": 1.0, "tags": None, "topic": None},
]


def test_every_kind_is_asked_for_here() -> None:
    assert {type(atom) for atom in ASKED} == set(OF_ATOM)
    assert len({name for kind in KINDS for name in kind.names}) == sum(len(kind.names) for kind in KINDS)


@pytest.mark.parametrize("atom", ASKED, ids=str)
def test_a_term_keeps_its_key_and_its_name_through_a_file(atom: TermAtom) -> None:
    kind = OF_ATOM[type(atom)]
    key = kind.key(atom)
    assert key[0] in kind.names and kind.read(json.loads(json.dumps(key))) == key
    before, after = Dictionary(), Dictionary()
    term = before.term(atom)
    after.load(before.saved(np.arange(len(before), dtype=np.int32)), len(before))
    assert after.term(atom) == term and len(after) == len(before)
    assert after.term_names().equals(before.term_names()) and before.term_names()[term].as_py()


def test_a_table_has_the_terms_that_its_rows_have_one_by_one() -> None:
    terms, names = Dictionary(), {str(atom): atom for atom in ASKED}
    ids = {terms.term(atom): name for name, atom in names.items()}
    reader = TermReader(terms, ENGLISH)
    batch = reader.read(Publications.of(pa.Table.from_pylist(ROWS)).table, with_tokens=False)
    for row, fields in enumerate(ROWS):
        one = reader.read_one(_published(fields), with_tokens=False).terms
        assert sorted(one.tolist()) == sorted(term for term in batch.terms.row(row).tolist() if term >= 0)
        assert len(set(one.tolist())) == len(one)
    found = {ids[term] for row in range(len(ROWS)) for term in batch.terms.row(row).tolist() if term >= 0}
    assert found == set(names)


@dataclass(frozen=True)
class _LongText:
    """A toy atom: a text of so many characters at least."""

    chars: int


class _LongTexts(Kind):
    names = ("long",)
    atoms = (_LongText,)
    guess = 0.5

    @staticmethod
    def key(atom: _LongText) -> Key:
        return "long", atom.chars

    @staticmethod
    def called(key: Key) -> str:
        return f"long:{key[1]}"

    def of_table(self, reading: Reading) -> list[Pairs]:
        chars = [len(text or "") for text in reading.text.to_pylist()]
        pairs = [(row, term) for row, n in enumerate(chars) for (_, least), term in self.ids.items() if n >= least]
        return [(np.array([row for row, _ in pairs]), np.array([term for _, term in pairs], dtype=np.int32))]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:
        return [term for (_, least), term in self.ids.items() if len(publication.text) >= least]


def test_a_new_kind_is_one_class_and_one_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KINDS", (*KINDS, _LongTexts))
    monkeypatch.setitem(OF_ATOM, _LongText, _LongTexts)
    before, terms = Dictionary(), Dictionary()
    before.word("fire")
    long = before.term(_LongText(8))  # type: ignore[arg-type]  # no atom of the language
    terms.load(before.saved(np.arange(len(before), dtype=np.int32)), len(before))
    assert terms.term_names().to_pylist() == ["", "fire", "long:8"]
    reader = TermReader(terms, Analyser())
    table = Publications.of(pa.Table.from_pylist(ROWS)).table
    read = reader.read(table, with_tokens=False).terms
    has = [long in read.row(row) for row in range(len(ROWS))]
    assert has == [True, True, False, False]
    assert has == [long in reader.read_one(_published(row), with_tokens=False).terms for row in ROWS]


def _published(fields: dict[str, object]) -> Publication:
    values = {name: value for name, value in fields.items() if name not in ("id", "text", "topic")}
    topic = fields["topic"]
    return Publication(str(fields["id"]), str(fields["text"]), topics=(str(topic),) if topic else (), attributes=values)  # type: ignore[arg-type]
