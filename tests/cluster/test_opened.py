"""Does a worker open a newer release without mapping files again, and without learning words again?"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tidings.cluster import opened as module
from tidings.cluster.opened import Opened
from tidings.cluster.releases import Plan, Releases
from tidings.registry import Registry

POST = pa.table({"id": ["p"], "text": ["The White House is on fire"]})


def test_a_newer_release_takes_over_files_and_words(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    releases = Releases(tmp_path / "releases")
    opened = Opened()
    registry.add(pa.table({"id": ["a"], "query": ["white house"]}))
    first = opened.share(releases.release(registry, 1), 0)
    assert opened.share(releases.release(registry, 1), 0) is first
    assert len(first.index.match(POST)) == 1
    registry.add(pa.table({"id": ["b"], "query": ["fire"]}))
    second = opened.share(releases.release(registry, 2), 0)
    assert first.files.items() <= second.files.items() and len(second.files) == 2
    words = second.index._readers.local.scratch.reader._words.fast
    assert words is first.index._readers.local.scratch.reader._words.fast and len(words.vocabulary) > 0
    assert len(second.index.match(POST)) == 2
    assert len(first.index.match(POST)) == 1


def test_the_least_recently_used_is_closed(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    registry.add(pa.table({"id": ["a"], "query": ["white house"]}))
    release = Releases(tmp_path / "releases", plan=Plan("partitioned", module.MOST_OPEN + 1)).release(registry, 1)
    opened = Opened()
    shares = [opened.share(release, matcher) for matcher in range(release.matchers)]
    assert opened.share(release, 1) is shares[1] and opened.share(release, 0) is not shares[0]
