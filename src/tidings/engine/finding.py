"""Which publications that are kept are the past of a subscription?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.engine.nothing_kept import PAST
from tidings.engine.replica import indexed
from tidings.engine.subscribed import Subscribed
from tidings.engine.verifying import Verifier
from tidings.index.guard import Meaning
from tidings.index.subscribers import Row as IndexRow
from tidings.language import Conjunction, parse_normal
from tidings.language.atoms import Sequence
from tidings.model import Match
from tidings.model.values import utc_now
from tidings.registry import Row
from tidings.storage.guards import KeptGuard
from tidings.storage.kept import KeptPublications
from tidings.storage.kept_block import FoundInBlock, Window
from tidings.storage.kept_reader import KeptReader
from tidings.storage.kept_rows import KeptRows
from tidings.storage.keys import LATEST
from tidings.tables.columns import instant_key


class PastFinder:
    """Reads candidates from what is kept, and verifies them."""

    def __init__(self, kept: KeptPublications | KeptReader, analyser: Analyser) -> None:
        self._kept = kept
        self._verifier = Verifier(analyser)

    def find(self, row: IndexRow, meaning: Meaning, now: int, before: int | None = None) -> list[FoundInBlock]:
        """The publications before a number that answer the query of a row, the newest block first. Without a number,
        those that were matched with a version before that of the row."""
        if isinstance(self._kept, KeptReader):
            self._kept.refresh()
        _, _, _, _, version, since, until = row
        limits = (LATEST, version) if before is None else (before, LATEST)
        asked = [KeptGuard.of(conjunction) for conjunction in _form(meaning)]
        found = self._kept.read(asked, Window(since, until, now, *limits))
        doubtful = [each for each in found if not each.is_sure.all()]
        if not doubtful:
            return found
        if all(each.is_of_text for each in asked):
            texts = pa.concat_arrays([each.texts_to_verify() for each in doubtful])
            answers = self._verifier.with_text(texts, meaning)
        else:
            answers = self._verifier.answering(KeptRows.joined([each.to_verify() for each in doubtful]), meaning)
        ends = np.cumsum([np.count_nonzero(~each.is_sure) for each in doubtful])
        verified = iter(np.split(answers, ends[:-1]))
        return [each if each.is_sure.all() else each.verified(next(verified)) for each in found]

    def subscribed(self, row: IndexRow, found: Iterable[FoundInBlock]) -> Subscribed:
        """What the subscription of a row gets: the matches with what was found."""
        name, subscriber, tag, _, version, since, _ = row
        posts = [post for each in found for post in each.ids()]
        of_one = zip(posts, repeat(name), repeat(subscriber), repeat(tag), repeat(version), strict=False)
        past = map(tuple.__new__, repeat(Match), of_one)  # half the time of calling Match
        return Subscribed(name, past, since >= self._kept.whole_since)


def keeps_posts(folder: Path) -> bool:
    """Whether publications are kept in the folder of an engine, or were."""
    return (folder / PAST).is_dir()


def past_in(folder: Path, row: Row, version: int, analyser: Analyser = ENGLISH) -> Subscribed:
    """The past of a subscription of some version in a folder where a process keeps publications, or did."""
    finder = PastFinder(KeptReader(folder / PAST, analyser), analyser)
    meaning, asked = parse_normal(row[1], analyser=analyser)[1], indexed(row, version)
    return finder.subscribed(asked, finder.find(asked, meaning, instant_key(utc_now())))


def _form(meaning: Meaning) -> tuple[Conjunction, ...]:
    if isinstance(meaning, tuple):
        return meaning
    return (Conjunction(tuple([Sequence((word,)) for word in meaning])),)
