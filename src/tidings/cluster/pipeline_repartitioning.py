"""How does a pipeline get a new partitioning while it goes on? The global load adjustment of PS2Stream, on files.

Implements [PS2] V-B, as :mod:`tidings.cluster.repartitioning` does in one process. Now and then a hybrid mapping is
learned from the latest posts that are kept and from the subscriptions. If it is clearly better on posts that were held
out, it is put into the folder of mappings *beside* the one in use: what is subscribed from then on is placed by it.
When few are left that the older mapping has placed, a page of moves retires that. A batch has the mapping of its pin.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tidings.balancing import Global
from tidings.cluster.counting import RECENT_POSTS
from tidings.cluster.filings import Filings, merged
from tidings.cluster.learning import parted
from tidings.cluster.mappings import MappingPage
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.place_learning import PlaceLearner
from tidings.cluster.releases import Newest, newest_release
from tidings.cluster.seen import Seen
from tidings.model.values import utc_now
from tidings.partitioning import Mapping
from tidings.partitioning.finer import finer
from tidings.registry import Registry

FEWEST_POSTS = 1_000
"""A check on fewer posts would be chance."""

_PARTITIONER = "hybrid"
_PARTS = 4
"""Each parcel is in so many parts, so that the local adjustment can split a cell by text."""

_COUNT_S = 60.0
"""So often, at least, it is counted how many are left of an older mapping."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PipelineRepartitioner:
    """Adjusts the pipeline in a folder globally, ``check_s`` seconds after the last check."""

    home: PipelineFolder
    registry: Registry
    policy: Global
    check_s: float

    def is_due(self, batch: int) -> bool:
        """Whether it is time for a check after a batch, and no other mapping waits to be taken."""
        mappings, pin = self.home.mappings, self.home.journal.pin(batch)
        if pin is None or mappings.newest(mappings.planned(pin.mapping)) != pin.mapping:
            return False
        now, last = utc_now(), mappings.checked
        if last is None:
            mappings.note_check(now.isoformat())
            last = now
        has_older = bool(newest_release(self.home.releases).older)
        every_s = min(self.check_s, _COUNT_S) if has_older else self.check_s
        return (now - last).total_seconds() >= every_s

    def adjust(self) -> str:
        """Adopt a mapping that is clearly better, or retire an older one of which few are left; empty if neither.

        Returns the name of the mapping that a batch will soon have. Cost: that of learning, or of counting.
        """
        self.home.mappings.note_check(utc_now().isoformat())
        newest = newest_release(self.home.releases)
        return self._retired(newest) if newest.older else self._adopted(newest)

    def _retired(self, newest: Newest) -> str:
        left, others = _count(newest.older), _count(newest.routers)
        if not self.policy.is_few(left, of=left + others):
            return ""
        name = self.home.retire()
        _log.info("an older mapping is dropped, %d of %d are placed anew: %s", left, left + others, name)
        return name

    def _adopted(self, newest: Newest) -> str:
        posts = Seen(self.home.seen).table()
        in_use = self.home.mappings.mapping(newest.key.mapping) if newest.routers else None
        if in_use is None or posts is None or posts.num_rows < FEWEST_POSTS:
            return ""
        recent = posts.slice(max(posts.num_rows - RECENT_POSTS, 0))
        mapping, page = self._learned(in_use, self.home.mappings.planned(newest.key.mapping), recent)
        if mapping is None:
            return ""
        name = self.home.adopt(mapping, page)
        _log.info("a clearly better mapping is used beside the one before: %s, %s", name, page)
        return name

    def _learned(self, in_use: Mapping, planned: int, posts: pa.Table) -> tuple[Mapping | None, MappingPage]:
        """A mapping that is clearly better than the one in use, None if there is none; and what is told of it."""
        held_out, sample = parted(posts)
        subscriptions = self.registry.snapshot(self.registry.version)
        learner = PlaceLearner(sample, held_out, subscriptions, self.registry.analyser)
        mapping = finer(learner.learn(_PARTITIONER, in_use.matchers), _PARTS)
        before, after, at = learner.figures(in_use), learner.figures(mapping), utc_now().isoformat()
        page = MappingPage(planned, in_use.matchers, _PARTITIONER, len(sample), before, after, at)
        is_better = self.policy.is_better(*(learner.promised(own) for own in (in_use, mapping)))
        _log.info("a new mapping is %s: %s", "clearly better" if is_better else "not clearly better", page)
        return mapping if is_better else None, page


def _count(files: list[Path]) -> int:
    """How many subscriptions are filed in the files of a router. Cost: some microseconds each."""
    parts = [Filings.open(file) for file in files]
    return len(merged(parts).ids)
