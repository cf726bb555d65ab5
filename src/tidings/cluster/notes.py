"""How do counters and bad rows come back from Python workers? As notes: rows of JSON among the matches.

Rows of matches have no note. Each task ends with the note of its work, a :class:`Tally`; each bad row is a note of its
own, a :class:`tidings.model.Rejected`. Publications that are kept to learn from are one of their own for each task, and
so is the name of the file in which a task has put its matches (:mod:`tidings.spark.tasks`), each file of posts that are
kept (:class:`tidings.cluster.post_files.FiledPosts`), and what it left undone in an overload, a :class:`TaskShed`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import pyarrow as pa

from tidings.cluster.post_files import FiledPosts
from tidings.cluster.seen import packed, unpacked
from tidings.model import Rejected

TALLY, REJECTED, SEEN, FILE, SHED, KEPT = "tally", "rejected", "seen", "file", "shed", "kept"


@dataclass(frozen=True, slots=True)
class Tally:
    """The work of one task: publications in, how many of them were bad, entries looked at, matches out, milliseconds.

    In the partitioned layout publications pass tasks of the stage ``route`` and then those of ``match``, once for each
    matcher that they are sent to; in the replicated one there is only ``match``, and a matcher is a partition. A task
    of ``route`` tells no milliseconds, since it must give the same rows when it is run again. Tasks of ``past`` match
    kept publications with new subscriptions.
    ``sampled``: matches of publications that were spared from shedding, which would have been lost otherwise.
    ``graded``: (grade, publications that have it, their matches), where copies compete (:mod:`tidings.cluster.cut`).
    ``compared``: how many times an entry was compared, with one publication or with several at once; ``found``: the
    matches, also those that another matcher delivers.
    """

    stage: Literal["route", "match", "past"]
    matcher: int
    posts: int
    rejected: int
    candidates: int
    matches: int
    ms: float
    sampled: int = 0
    graded: tuple[tuple[int, int, int], ...] = ()
    compared: int = 0
    found: int = 0


@dataclass(frozen=True, slots=True)
class TaskShed:
    """What one task left undone: publications that went to fewer matchers than they should, and to none of them.

    ``copies``: (matcher, publications that were not sent there); ``spared``: how many were sent somewhere only because
    they are spared; ``grades``: (grade, publications that have it), see :mod:`tidings.cluster.cut`; ``looked_at``: how
    many were read.
    """

    posts_cut: int
    posts_dropped: int
    copies: tuple[tuple[int, int], ...]
    spared: int
    grades: tuple[tuple[int, int], ...] = ()
    looked_at: int = 0


@dataclass(frozen=True, slots=True)
class Notes:
    """What a batch told: of its work, of its bad rows, the publications that are kept to learn from, its files, what it
    left undone, and the files of publications that are kept."""

    tallies: tuple[Tally, ...]
    rejected: tuple[Rejected, ...]
    seen: tuple[pa.Table, ...] = ()
    files: tuple[str, ...] = ()
    shed: tuple[TaskShed, ...] = ()
    kept: tuple[FiledPosts, ...] = ()
    dropped: int = 0
    """How many publications were dropped before anything could tell of them."""

    @classmethod
    def read(cls, notes: Iterable[str]) -> Notes:
        """
        >>> told = [note(Tally("match", 0, 10, 1, 30, 7, 0.5)), note(Rejected("publication", "p1", "why"))]
        >>> Notes.read(told).posts, Notes.read(told).rejected[0].reason
        (10, 'why')
        """
        rows = [json.loads(text) for text in notes]
        return cls(
            tuple(Tally(**row[TALLY]) for row in rows if TALLY in row),
            tuple(Rejected(**row[REJECTED]) for row in rows if REJECTED in row),
            tuple(unpacked(row[SEEN]) for row in rows if SEEN in row),
            tuple(row[FILE] for row in rows if FILE in row),
            tuple(TaskShed(**row[SHED]) for row in rows if SHED in row),
            tuple(FiledPosts(**row[KEPT]) for row in rows if KEPT in row),
        )

    @property
    def posts(self) -> int:
        """How many publications came in, each counted once."""
        routed = [tally for tally in self.tallies if tally.stage == "route"]
        return self.dropped + sum(tally.posts for tally in routed or self.tallies if tally.stage != "past")

    @property
    def matches(self) -> int:
        return sum(tally.matches for tally in self.tallies)


def note(what: Tally | TaskShed | Rejected | FiledPosts | pa.Table | str) -> str:
    """The text of a note; a string is the name of a file."""
    if isinstance(what, str):
        return json.dumps({FILE: what})
    if isinstance(what, pa.Table):
        return json.dumps({SEEN: packed(what)})
    kind = {Tally: TALLY, TaskShed: SHED, Rejected: REJECTED, FiledPosts: KEPT}[type(what)]
    return json.dumps({kind: asdict(what)}, ensure_ascii=False)
