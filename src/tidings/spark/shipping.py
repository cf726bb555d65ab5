"""How does an index reach machines that share no folder? Spark carries its files, each once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from tidings.cluster.releases import Release


def shipped(release: Release, session: SparkSession, before: Release | None = None) -> Release:
    """The same release for workers that find its files where Spark puts them; those of the one ``before`` are there."""
    new = release.files - (frozenset() if before is None else before.files)
    paths = [str(Path(release.folder, name)) for name in sorted(new)]
    if paths:
        session.addArtifacts(*paths, file=True)
    return replace(release, shipped=True)


def is_remote(frame: object) -> bool:
    """Whether it belongs to Spark Connect, where a stream runs in a copy of the session that files do not reach."""
    return type(frame).__module__.startswith("pyspark.sql.connect.")
