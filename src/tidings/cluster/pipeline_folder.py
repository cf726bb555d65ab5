"""What does a pipeline keep in its folder, and where?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tidings.cluster.journal import Journal
from tidings.cluster.kept_posts import KeptPosts
from tidings.cluster.mappings import WHOLE, MappingPage, Mappings
from tidings.model import DataError
from tidings.model.values import utc_now
from tidings.partitioning import Mapping, Move


@dataclass(frozen=True, slots=True)
class PipelineFolder:
    """The folder of a pipeline: Spark's checkpoint, the journal, compiled releases, mappings that were learned, a
    sample of posts to learn from, bad rows, posts that are kept for the past of new subscriptions and indexes of these,
    how much waits at the source and how much is shed."""

    path: Path

    @property
    def checkpoint(self) -> Path:
        return self.path / "spark"

    @property
    def journal(self) -> Journal:
        return Journal(self.path / "journal")

    @property
    def releases(self) -> Path:
        return self.path / "releases"

    @property
    def mappings(self) -> Mappings:
        return Mappings(self.path / "mappings")

    @property
    def seen(self) -> Path:
        return self.path / "seen"

    @property
    def rejected(self) -> Path:
        return self.path / "rejected"

    @property
    def kept(self) -> KeptPosts:
        return KeptPosts(self.path / "kept")

    @property
    def pasts(self) -> Path:
        return self.path / "pasts"

    @property
    def backlog(self) -> Path:
        return self.path / "backlog.json"

    @property
    def overload(self) -> Path:
        return self.path / "overload.json"

    def move(self, moves: Iterable[Move]) -> str:
        """Let the pipeline give some parcels of the mapping of its last batch to other matchers; from any process.

        Returns the name of the mapping that a batch will soon have. Moves add up. They are a DataError where nothing
        is divided, and where a mapping with other parcels is about to be taken.
        """
        return self.mappings.move(self._in_use(), moves, utc_now().isoformat()).name

    def adopt(self, mapping: Mapping, page: MappingPage) -> str:
        """Let the pipeline place what is subscribed from now on by another mapping; all others stay where they are.

        Returns its name. ``page`` tells of it. It is refused where :meth:`move` is.
        """
        return self.mappings.put(mapping, replace(page, beside=self.mappings.parcels(self._in_use()))).name

    def retire(self) -> str:
        """Let the pipeline place by its mapping what an older one beside it has placed; the name of what it becomes."""
        return self.mappings.move(self._in_use(), (), utc_now().isoformat(), retires=True).name

    def _in_use(self) -> str:
        """The newest mapping with the parcels of the last batch; a DataError if one with others waits."""
        pin = self.journal.pin(max(self.journal.batches, default=-1))
        if pin is None:
            raise DataError(f"the pipeline in {str(self.path)!r} has had no batch yet; move when it has")
        newest = self.mappings.newest(self.mappings.planned(pin.mapping)) if pin.mapping != WHOLE else WHOLE
        if self.mappings.parcels(newest) != self.mappings.parcels(pin.mapping):
            raise DataError(f"the mapping {newest!r} with other parcels is about to be taken; move when it is")
        return newest
