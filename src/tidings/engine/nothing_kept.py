"""What is the past of an engine that keeps nothing? The twin of :class:`tidings.engine.past.Past`."""

# ruff: noqa: ARG002  (a twin takes what the other takes)

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from tidings.engine.earlier import Earlier
from tidings.engine.replica import Replica
from tidings.engine.subscribed import Subscribed
from tidings.index.guard import Meaning
from tidings.index.matcher import Clock
from tidings.index.snapshot import Snapshot
from tidings.index.subscribers import Row as IndexRow
from tidings.model import Publication, PublicationError
from tidings.tables.checked import Publications
from tidings.tables.columns import instant_key
from tidings.tables.matches import Matches

PAST, GAP = "past", "past.gap"
"""What is kept in the folder of an engine, and a mark there that an engine has it open, or had, that keeps nothing."""


class NothingKept:
    """No past at all. What it is given is not kept: so in a folder where others keep it, it leaves a mark."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._clock = clock
        self._replica: Replica
        self._unmarked = folder if folder is not None and (folder / PAST).exists() else None

    def show(self, replica: Replica) -> int:
        """Publications see all changes at once."""
        self._replica = replica
        return 0

    def commit(self, posts: Publication | Publications, expires: datetime | None = None) -> tuple[Snapshot, int]:
        """The snapshot to match publications with."""
        if expires is not None:
            raise PublicationError("expires says how long a publication is kept; give the engine keep=timedelta(…) too")
        if self._unmarked is not None:
            with suppress(OSError):  # a folder where nothing can be written
                (self._unmarked / GAP).touch()
            self._unmarked = None
        return self._replica.index.snapshot, 0

    def match(self, posts: Publications) -> Matches:
        """The matches of publications."""
        return self.commit(posts)[0].match(posts)

    def of(self, row: IndexRow, meaning: Meaning, before: int | None = None) -> Subscribed:
        """Nothing, and whether that is all: if nothing can have happened since."""
        return Subscribed(row[0], complete=row[5] >= instant_key(self._clock()))

    def earlier(self, publication: Publication, name: str, before: int) -> Earlier:
        """Nobody knows them."""
        raise PublicationError("self_join asks for what was kept; give the engine keep=timedelta(…) too")

    def close(self) -> None:
        pass
