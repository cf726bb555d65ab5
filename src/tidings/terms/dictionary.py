"""Which terms does anybody ask for? Each has a dense id; a term that nobody asks for has none.

Terms of all kinds share one space of ids, because to the index they are the same: something that a publication has.
Id 0 is the term that every publication has. One thread adds terms, any number look them up.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.arrays import IdArray, NamedArrays
from tidings.arrays.strings import ARRAYS, StringTable
from tidings.language.atoms import MIN_PREFIX_CHARS, FormPrefix, has_piece
from tidings.model.query import Contains, EndsWith, Equals, Present, StartsWith, Topic
from tidings.model.values import Value, equality_texts, value_text
from tidings.tables.columns import Slot
from tidings.terms.label_terms import LabelTerms
from tidings.terms.pairs import Pairs, local_names
from tidings.terms.topics import TopicTerms

TermAtom = FormPrefix | Equals | StartsWith | EndsWith | Contains | Present | Topic
"""An atom that a publication fulfils by having one term (a word of a sequence is asked for by :meth:`word`)."""


_PIECES: dict[str, type[StartsWith | EndsWith | Contains]] = {
    "starts": StartsWith,
    "ends": EndsWith,
    "contains": Contains,
}
_NAMES: dict[str, Callable[..., str]] = {
    "equal": lambda name, texts: f"{name}={'|'.join(texts)}",
    "topic": lambda *path: f"topic:{'/'.join(path)}",
    "prefix": "{}*".format,
    "present": "has:{}".format,
    "starts": "{}={}*".format,
    "ends": "{}=*{}".format,
    "contains": "{}=*{}*".format,
}
"""How a term is called, by kind; files hold what follows from it, so it must not change without a new format."""

_CELLS = -1
_LOCAL = ("local_regions", "local_terms", "local_ids")
_FEW = 64
"""So many words at least are worth the turn that a thread may lose by looking them up all at once."""


class Dictionary:
    """Gives ids to terms as they are asked for; ids never change.

    >>> terms = Dictionary()
    >>> terms.word("fire"), terms.term(Equals("symbol", "YHOO")), terms.word("fire"), len(terms)
    (1, 2, 1, 3)
    """

    def __init__(self) -> None:
        self._count = 1
        self._old_words = StringTable.empty()
        self._old_word_ids: IdArray = np.zeros(0, dtype=np.int32)
        self._words: dict[str, int] = {}
        self.new_words: list[tuple[str, int]] = []
        """Words that were added after others had begun to look them up, with their ids; only ever appended to."""
        self.prefixes: dict[str, int] = {}
        self.heads: set[str] = set()
        """How forms begin that have a prefix which is asked for."""
        self._prefix_chars: list[int] = []
        self.present: dict[str, int] = {}
        self.topics: dict[tuple[str, ...], int] = {}
        self.patterns: dict[tuple[str, ...], int] = {}
        self._topics = TopicTerms()
        self.values: defaultdict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)
        self.pieces: defaultdict[str, dict[StartsWith | EndsWith | Contains, int]] = defaultdict(dict)
        self.cells = LabelTerms()
        self.intervals: defaultdict[Slot, LabelTerms] = defaultdict(LabelTerms)
        self.slots: dict[Slot, int] = {}
        self.local = Pairs()
        self._equalities: dict[tuple[str, frozenset[str]], int] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def has_words(self) -> bool:
        """Whether any word is asked for: if not, texts need not be read."""
        return len(self._old_words) > 0 or len(self.new_words) > 0

    def find_word(self, word: str) -> int:
        """The id of a word, or -1."""
        known = self._words.get(word)
        if known is not None:
            return known
        number = self._old_words.find(word)
        return int(self._old_word_ids[number]) if number >= 0 else -1

    def find_words(self, words: list[str]) -> IdArray:
        """:meth:`find_word` of many."""
        if len(words) < _FEW:
            return np.array([self.find_word(word) for word in words], dtype=np.int32)
        found = np.fromiter(map(self._words.get, words, repeat(-1)), np.int32, len(words))
        if len(self._old_words) and len(words):
            old = self._old_words.find_many(pa.array(words, pa.large_string()))
            found[old >= 0] = self._old_word_ids[old[old >= 0]]
        return found

    def word(self, word: str) -> int:
        """The id of a word, which it gets if it has none."""
        term = self.find_word(word)
        if term < 0:
            term = self._words[word] = self._next()
            self.new_words.append((word, term))
        return term

    def cell(self, label: int) -> int:
        return self._label(self.cells, label)

    def interval(self, slot: Slot, label: int) -> int:
        return self._label(self.intervals[slot], label)

    def local_terms(self, regions: IdArray, terms: IdArray) -> IdArray:
        """The ids of terms in regions, which they get if they have none: int32, as the regions and the terms."""
        keys = regions.astype(np.int64) << 32 | terms
        _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
        own = regions[places].astype(np.int32), terms[places].astype(np.int32)
        ids = self.local.find(*own)
        fresh = np.flatnonzero(ids < 0)
        ids[fresh] = self._count + np.arange(len(fresh), dtype=np.int32)
        self._count += len(fresh)
        self.local.put(own[0][fresh], own[1][fresh], ids[fresh])
        found: IdArray = ids[inverse.reshape(-1)]
        return found

    def slot(self, slot: Slot) -> int:
        """The number of a column of numbers; 0 and 1 are those of places."""
        return self.slots.setdefault(slot, len(self.slots) + 2)

    def term(self, atom: TermAtom) -> int:
        """The id of the term that fulfils an atom."""
        match atom:
            case FormPrefix(beginning):
                return self._prefix(beginning)
            case Equals(name, literal):
                return self._equality(name, equality_texts(literal))
            case Present(name):
                return self._id(self.present, name)
            case Topic(path):
                return self._topic(path)
            case _:
                return self._id(self.pieces[atom.name], atom)

    def value_terms(self, name: str, value: Value) -> tuple[int, ...]:
        """The terms that an attribute's value has: equalities, and pieces of text."""
        equal = self.values[name].get(value_text(value), ()) if name in self.values else ()
        if not isinstance(value, str) or name not in self.pieces:
            return equal
        return (*equal, *(term for piece, term in list(self.pieces[name].items()) if has_piece(piece, value)))

    def topic_terms(self, topic: str) -> tuple[int, ...]:
        """The terms of a topic: itself and what is above it, and patterns that fit."""
        return tuple(self._topics.above(topic))

    def form_terms(self, forms: Iterable[str]) -> dict[str, list[int]]:
        """Those of some forms that begin as somebody asks, each with the terms of its prefixes."""
        chars, prefixes = self._prefix_chars, self.prefixes
        found = {form: [prefixes[form[:n]] for n in chars if form[:n] in prefixes] for form in forms}
        return {form: terms for form, terms in found.items() if terms}

    def attributes(self) -> frozenset[str]:
        """The attributes, and the fields, that somebody asks about."""
        return frozenset([*self.values, *self.pieces, *self.present, *(name for name, _ in self.slots)])

    def saved(self, numbers: IdArray) -> NamedArrays:
        """The terms t with ``numbers[t] >= 0``, under those numbers, as arrays from which :meth:`load` takes them."""
        old = numbers[self._old_word_ids]
        new = [(word, int(numbers[term])) for word, term in self.new_words if numbers[term] >= 0]
        words = pa.concat_arrays(
            [self._old_words.texts().filter(pa.array(old >= 0)), pa.array([word for word, _ in new], pa.large_string())]
        )
        word_ids = np.concatenate([old[old >= 0], np.array([term for _, term in new], dtype=np.int32)])
        tables = [(_CELLS, self.cells), *((self.slots[slot], table) for slot, table in self.intervals.items())]
        labels = [(slot, *table.items()) for slot, table in tables]
        kept = [(slot, keys[numbers[ids] >= 0], numbers[ids][numbers[ids] >= 0]) for slot, keys, ids in labels]
        others = [(int(numbers[term]), *key) for term, *key in self._others() if numbers[term] >= 0]
        return {
            **{f"word_{name}": array for name, array in StringTable.of(words).arrays().items()},
            "word_ids": word_ids.astype(np.int32),
            "label_slots": np.concatenate([np.full(len(ids), slot, dtype=np.int32) for slot, _, ids in kept]),
            "labels": np.concatenate([keys for _, keys, _ in kept]),
            "label_ids": np.concatenate([ids for _, _, ids in kept]),
            "others": np.frombuffer(json.dumps(others).encode(), dtype=np.uint8),
            "slots": np.frombuffer(json.dumps(list(self.slots)).encode(), dtype=np.uint8),
            **self._saved_local(numbers),
        }

    def _saved_local(self, numbers: IdArray) -> NamedArrays:
        """Nothing if there are none: most dictionaries have none, and their files are as they always were."""
        regions, terms, ids = self.local.items()
        kept = numbers[ids] >= 0
        if not kept.any():
            return {}
        return {_LOCAL[0]: regions[kept], _LOCAL[1]: numbers[terms[kept]], _LOCAL[2]: numbers[ids[kept]]}

    def load(self, arrays: Mapping[str, npt.NDArray[Any]], count: int) -> None:
        """Take terms from arrays, until there are ``count``. The words of the first call are used where they lie."""
        words = StringTable.from_arrays({name: arrays[f"word_{name}"] for name in ARRAYS})
        if not len(self._old_words) and not self._words:
            self._old_words, self._old_word_ids = words, arrays["word_ids"]
        else:
            added = list(zip(words.texts().to_pylist(), arrays["word_ids"].tolist(), strict=True))
            self._words.update(added)
            self.new_words += added
        for name, of_instants in json.loads(arrays["slots"].tobytes()):
            self.slot((name, of_instants))
        slot_of = {number: slot for slot, number in self.slots.items()}
        for number in (np.flatnonzero(np.bincount(arrays["label_slots"] - _CELLS)) + _CELLS).tolist():
            mine = arrays["label_slots"] == number
            table = self.cells if number == _CELLS else self.intervals[slot_of[number]]
            table.put(arrays["labels"][mine], arrays["label_ids"][mine])
        for term, kind, *key in json.loads(arrays["others"].tobytes()):
            self._count = term  # the next one that is given
            self._other(kind, key)
        if _LOCAL[0] in arrays:
            self.local.put(*(np.array(arrays[name], dtype=np.int32) for name in _LOCAL))
        self._count = count

    def part(self, used: npt.NDArray[np.bool_]) -> tuple[Dictionary, IdArray]:
        """A dictionary of term 0 and the terms t with ``used[t]``, and the id there of each term, -1 for the others.

        Where a term in a region is used, so is the term.
        """
        kept = used.copy()
        kept[0] = True
        _, terms, ids = self.local.items()
        kept[terms[used[ids]]] = True
        numbers = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        part = Dictionary()
        part.load(self.saved(numbers), int(kept.sum()))
        return part, numbers

    def include(self, other: Dictionary) -> IdArray:
        """Let all terms of another dictionary be here as well; returns the id here of each term there."""
        ids = np.zeros(len(other), dtype=np.int32)
        for word, term in other._all_words():
            ids[term] = self.word(word)
        for slot in other.slots:
            self.slot(slot)
        for label, term in other.cells.pairs():
            ids[term] = self.cell(label)
        for slot, table in other.intervals.items():
            for label, term in table.pairs():
                ids[term] = self.interval(slot, label)
        for term, kind, *key in other._others():
            ids[term] = self._other(kind, key)
        regions, terms, locals_there = other.local.items()
        ids[locals_there] = self.local_terms(regions, ids[terms])
        return ids

    def term_names(self) -> pa.LargeStringArray:
        """What each term is called, by id: the same name for the same term, however the terms are numbered.

        The name of term 0 is empty. Cost: some 0.5 µs for a word.

        >>> terms = Dictionary()
        >>> terms.word("fire"), terms.term(Equals("symbol", "YHOO")), terms.term(StartsWith("name", "Mc"))
        (1, 2, 3)
        >>> terms.term_names().to_pylist()
        ['', 'fire', 'symbol=YHOO', 'name=Mc*']
        """
        names = [""] * len(self)
        for word, term in self._all_words():
            names[term] = word
        for label, term in self.cells.pairs():
            names[term] = f"cell:{label:016x}"
        for (column, of_instants), table in self.intervals.items():
            for label, term in table.pairs():
                names[term] = f"{column}{'@' if of_instants else '#'}{label:016x}"
        for term, kind, *key in self._others():
            names[term] = _NAMES[kind](*key)
        alone = pa.array(names, pa.large_string())
        regions, terms, ids = self.local.items()
        if not len(ids):
            return alone
        both = pa.concat_arrays([alone, local_names(regions, alone.take(pa.array(terms)))])
        places = np.arange(len(self))
        places[ids] = len(self) + np.arange(len(ids))
        return both.take(pa.array(places))

    def _all_words(self) -> Iterator[tuple[str, int]]:
        yield from zip(self._old_words.texts().to_pylist(), self._old_word_ids.tolist(), strict=True)
        yield from self.new_words

    def _others(self) -> list[tuple[Any, ...]]:
        """Id, kind and key of the terms that are neither words nor labels."""
        kinds = {piece: kind for kind, piece in _PIECES.items()}
        pieces = [(term, kinds[type(p)], p.name, p.value) for own in self.pieces.values() for p, term in own.items()]
        return [
            *((term, "prefix", key) for key, term in self.prefixes.items()),
            *((term, "present", key) for key, term in self.present.items()),
            *((term, "topic", *key) for key, term in (self.topics | self.patterns).items()),
            *((term, "equal", name, sorted(texts)) for (name, texts), term in self._equalities.items()),
            *pieces,
        ]

    def _other(self, kind: str, key: list[Any]) -> int:
        """The id of a term as :meth:`_others` describes it."""
        match kind:
            case "equal":
                return self._equality(key[0], frozenset(key[1]))
            case "topic":
                return self._topic(tuple(key))
            case "prefix":
                return self._prefix(key[0])
            case "present":
                return self._id(self.present, key[0])
            case _:
                return self._id(self.pieces[key[0]], _PIECES[kind](*key))

    def _equality(self, name: str, texts: frozenset[str]) -> int:
        term = self._equalities.get((name, texts))
        if term is None:
            term = self._equalities[name, texts] = self._next()
            for text in texts:
                self.values[name][text] = (*self.values[name].get(text, ()), term)
        return term

    def _prefix(self, beginning: str) -> int:
        term = self._id(self.prefixes, beginning)
        self.heads.add(beginning[:MIN_PREFIX_CHARS])
        self._prefix_chars = sorted({*self._prefix_chars, len(beginning)})
        return term

    def _topic(self, path: tuple[str, ...]) -> int:
        term = self._id(self.patterns if "*" in path else self.topics, path)
        self._topics.put(path, term)
        return term

    def _label(self, table: LabelTerms, label: int) -> int:
        term = table.get(label)
        if term < 0:
            term = self._next()
            table.put(np.array([label], dtype=np.uint64), np.array([term], dtype=np.int32))
        return term

    def _id(self, ids: dict[Any, int], key: object) -> int:
        known = ids.get(key)
        if known is None:
            known = ids[key] = self._next()
        return known

    def _next(self) -> int:
        self._count += 1
        return self._count - 1
