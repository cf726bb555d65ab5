"""Which subscriptions do these publications answer, by definition? The oracle that every index has to equal.

Every atom is evaluated by the reference (:func:`tidings.language.holds`), and the answers are joined as the query was
written: no normal form, no terms, no guards. What makes 20,000 publications times 10,000 queries bearable is that an
atom is evaluated at most once for each publication, and only where the rest of its query leaves the answer open.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays import IntArray
from tidings.index.matcher import Clock, SubscriptionList
from tidings.language import Content, ResolvedAtom, Sequence, holds, resolve
from tidings.language.atoms import NOTHING_LEFT
from tidings.model import And, Not, Or, Publication, Query, QueryError, Rectangle, Subscription, Within
from tidings.model.query import Atom
from tidings.model.values import utc_now
from tidings.tables.checked import Listed
from tidings.tables.matches import Counters, Deliveries, Matches
from tidings.tables.rows import publications

_NO, _YES, _OPEN = 0, 1, 2


class BruteForce:
    """Slow and right by definition. A publication without an instant counts as one of now, by ``clock``.

    Memory: a byte for each different atom times each publication of a batch.
    """

    def __init__(self, analyser: Analyser = ENGLISH, clock: Clock = utc_now) -> None:
        self._analyser = analyser
        self._clock = clock
        self._subscriptions: dict[str, Subscription] = {}

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._subscriptions[subscription.id] = subscription

    def remove(self, ids: Iterable[str]) -> None:
        for name in ids:
            self._subscriptions.pop(name, None)

    def match(self, table: pa.Table) -> Matches:
        good = {row: found for row, found in enumerate(publications(table)) if isinstance(found, Publication)}
        answers = Answers([Content.of(publication, self._analyser) for publication in good.values()], self._analyser)
        instants = [publication.ts or self._clock() for publication in good.values()]
        asked = list(self._subscriptions.values())
        found = [_valid(subscription, answers.to(subscription.query), instants) for subscription in asked]
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *found])
        owners = [number for number, each in enumerate(found) for _ in each]
        posts = Listed(list(good.values()), np.array(list(good), dtype=np.int64))
        numbers, order = np.array(owners, dtype=np.int32), np.argsort(rows, kind="stable")
        deliveries = Deliveries(posts, rows[order].astype(np.int32), SubscriptionList(asked), numbers[order])
        count = table.num_rows * len(asked)
        return Matches([deliveries], Counters(count, count, len(numbers)))


def _valid(subscription: Subscription, rows: IntArray, instants: list[datetime]) -> IntArray:
    """Those of ``rows`` whose instant the subscription is valid at."""
    return rows[np.array([subscription.valid_at(instants[row]) for row in rows.tolist()], dtype=np.bool_)]


@dataclass(frozen=True, slots=True)
class _Column:
    """What is known of one atom: for each publication no, yes, or not yet evaluated."""

    atom: ResolvedAtom
    truth: npt.NDArray[np.uint8]


class Answers:
    """Of some publications, by number, those that answer a query.

    >>> from tidings.language import parse
    >>> posts = [Publication("a", "fire drill"), Publication("b", "fire"), Publication("c", "smoke")]
    >>> Answers([Content.of(post, ENGLISH) for post in posts], ENGLISH).to(parse("(fire OR smoke) -drill")).tolist()
    [1, 2]
    """

    def __init__(self, contents: list[Content], analyser: Analyser) -> None:
        self._contents = contents
        self._analyser = analyser
        self._columns: dict[Atom, _Column | None] = {}
        self._with_word: dict[str | None, list[int]] = defaultdict(list)
        for row, content in enumerate(contents):
            for word in {token.word for token in content.tokens}:
                self._with_word[word].append(row)
        places = [(content.publication.lon, content.publication.lat) for content in contents]
        self._lon = np.array([math.nan if lon is None else lon for lon, _ in places])
        self._lat = np.array([math.nan if lat is None else lat for _, lat in places])

    def to(self, query: Query) -> IntArray:
        answer = self._among(np.arange(len(self._contents)), query)
        if answer is None:
            raise QueryError(NOTHING_LEFT)
        return answer

    def _among(self, rows: IntArray, query: Query) -> IntArray | None:
        """Those of ``rows`` that answer the query, in order; None for a part that means nothing and so is left out."""
        match query:
            case Not(child):
                answer = self._among(rows, child)
                return None if answer is None else np.setdiff1d(rows, answer, assume_unique=True)
            case Or(children):
                known = [answer for child in children if (answer := self._among(rows, child)) is not None]
                return np.unique(np.concatenate(known)) if known else None
            case And(children):
                left = None
                for child in children:
                    answer = self._among(rows if left is None else left, child)
                    left = left if answer is None else answer
                return left
            case _:
                column = self._column(query)
                return None if column is None else self._holding(rows, column)

    def _holding(self, rows: IntArray, column: _Column) -> IntArray:
        """Those of ``rows`` where the atom holds; where that is not known yet, the reference is asked."""
        unknown = rows[column.truth[rows] == _OPEN]
        column.truth[unknown] = [holds(column.atom, self._contents[row]) for row in unknown.tolist()]
        holding: IntArray = rows[column.truth[rows] == _YES]
        return holding

    def _column(self, written: Atom) -> _Column | None:
        if written not in self._columns:
            atom = resolve(written, self._analyser)
            self._columns[written] = None if atom is None else _Column(atom, self._begun(atom))
        return self._columns[written]

    def _begun(self, atom: ResolvedAtom) -> npt.NDArray[np.uint8]:
        """No where it is plain that the atom does not hold: its first word is not there, or its box is elsewhere."""
        truth = np.full(len(self._contents), _NO, dtype=np.uint8)
        match atom:
            case Sequence(words):
                truth[self._with_word.get(words[0], [])] = _OPEN
            case Within(Rectangle(west, south, east, north)):
                inside = (west <= self._lon) & (self._lon <= east) & (south <= self._lat) & (self._lat <= north)
                truth[inside] = _OPEN
            case _:
                truth[:] = _OPEN
        return truth
