"""What does a pipeline keep in its folder, and where?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidings.cluster.journal import Journal
from tidings.cluster.mappings import Mappings


@dataclass(frozen=True, slots=True)
class PipelineFolder:
    """The folder of a pipeline: Spark's checkpoint, the journal, compiled releases, mappings that were learned, a
    sample of posts to learn from, bad rows, how much waits at the source and how much is shed."""

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
    def backlog(self) -> Path:
        return self.path / "backlog.json"

    @property
    def overload(self) -> Path:
        return self.path / "overload.json"
