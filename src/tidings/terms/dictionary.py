"""Which terms does anybody ask for? Each has a dense id; a term that nobody asks for has none.

Terms of all kinds share one space of ids, because to the index they are the same: something that a publication has.
Id 0 is the term that every publication has. One thread adds terms, any number look them up.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.arrays import IdArray, NamedArrays
from tidings.arrays.strings import ARRAYS, StringTable
from tidings.tables.columns import Slot
from tidings.terms.kinds import KINDS, OF_ATOM, Kind
from tidings.terms.kinds.kind import Key, TermAtom
from tidings.terms.label_terms import LabelArray, LabelTerms
from tidings.terms.local_terms import LocalTerms, local_names

_CELLS = -1
_LOCAL = ("local_regions", "local_terms", "local_ids")
_FEW = 64
"""So many words at least are worth the turn that a thread may lose by looking them up all at once."""


class Dictionary:
    """Gives ids to terms as they are asked for; ids never change.

    >>> from tidings.model.query import Equals
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
        self.cells = LabelTerms()
        self.intervals: defaultdict[Slot, LabelTerms] = defaultdict(LabelTerms)
        self.slots: dict[Slot, int] = {}
        self._kinds: dict[type[Kind], Kind] = {kind: kind() for kind in KINDS}
        self._named = {name: kind for kind in self._kinds.values() for name in kind.names}
        self.local = LocalTerms()

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

    def many_cells(self, labels: LabelArray) -> IdArray:
        """:meth:`cell` of many labels, uint64."""
        return self._labels(self.cells, labels)

    def many_intervals(self, slot: Slot, labels: LabelArray) -> IdArray:
        """:meth:`interval` of many labels, uint64."""
        return self._labels(self.intervals[slot], labels)

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
        kind = self._kinds[OF_ATOM[type(atom)]]
        return self._id(kind, kind.key(atom))

    def kinds(self) -> list[Kind]:
        """The kinds of which any term is asked for."""
        return [kind for kind in self._kinds.values() if kind.ids]

    def attributes(self) -> frozenset[str]:
        """The attributes, and the fields, that somebody asks about."""
        asked = (name for kind in self._kinds.values() for name in kind.attributes())
        return frozenset([*asked, *(name for name, _ in self.slots)])

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
        others = [(int(numbers[term]), *key) for _, key, term in self._others() if numbers[term] >= 0]
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
        regions, terms, ids = self.local.items(numbers >= 0)
        return {_LOCAL[0]: regions, _LOCAL[1]: numbers[terms], _LOCAL[2]: numbers[ids]} if len(ids) else {}

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
        for term, *saved in json.loads(arrays["others"].tobytes()):
            self._count = term  # the next one that is given
            kind = self._named[saved[0]]
            self._id(kind, kind.read(saved))
        if _LOCAL[0] in arrays:
            self.local.put(*(np.array(arrays[name], dtype=np.int32) for name in _LOCAL))
        self._count = count

    def part(self, used: npt.NDArray[np.bool_]) -> tuple[Dictionary, IdArray]:
        """A dictionary of term 0 and the terms t with ``used[t]``, and the id there of each term, -1 for the others.

        Where a term in a region is used, so is the term.
        """
        kept = used.copy()
        kept[0] = True
        kept[self.local.items(used)[1]] = True
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
        for kind, key, term in other._others():
            ids[term] = self._id(self._kinds[type(kind)], key)
        regions, terms, locals_there = other.local.items()
        ids[locals_there] = self.local_terms(regions, ids[terms])
        return ids

    def term_names(self) -> pa.LargeStringArray:
        """What each term is called, by id: the same name for the same term, however the terms are numbered.

        The name of term 0 is empty. Cost: some 0.5 µs for a word.

        >>> from tidings.model.query import Equals, StartsWith
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
        for kind, key, term in self._others():
            names[term] = kind.called(key)
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

    def _others(self) -> Iterator[tuple[Kind, Key, int]]:
        """The terms that are neither words nor labels."""
        return ((kind, key, term) for kind in self._kinds.values() for key, term in kind.ids.items())

    def _label(self, table: LabelTerms, label: int) -> int:
        term = table.get(label)
        if term < 0:
            term = self._next()
            table.put(np.array([label], dtype=np.uint64), np.array([term], dtype=np.int32))
        return term

    def _labels(self, table: LabelTerms, labels: LabelArray) -> IdArray:
        distinct, places = np.unique(labels, return_inverse=True)
        terms = table.get_many(distinct)
        new = np.flatnonzero(terms < 0)
        terms[new] = np.arange(self._count, self._count + len(new))
        self._count += len(new)
        table.put(distinct[new], terms[new])
        return terms[places]

    def _id(self, kind: Kind, key: Key) -> int:
        known = kind.ids.get(key)
        if known is None:
            known = self._next()
            kind.put(key, known)
        return known

    def _next(self) -> int:
        self._count += 1
        return self._count - 1
