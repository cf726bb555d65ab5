"""How is a mapping learned for a pipeline, and how good will it be? From what was seen, for the terms that route.

A mapping is learned from four fifths of the posts, and measured with the others, beside the one that is in use.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, get_args

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.cluster.mappings import Figures, MappingPage
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.place_learning import PlaceLearner
from tidings.cluster.placing import place
from tidings.cluster.releases import newest_release
from tidings.cluster.router import Router
from tidings.cluster.seen import Seen
from tidings.model import DataError
from tidings.model.values import utc_now
from tidings.partitioning import Mapping
from tidings.partitioning.hybrid import PlacePartitionerName, place_partitioner
from tidings.partitioning.learning import Incidence, Partitioner, PartitionerName, Quality, measure, partitioner
from tidings.placement import PlacementPolicy
from tidings.registry import Registry
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample

Count: TypeAlias = "Callable[[Dictionary, Analyser, bool], Incidence]"
"""The incidence of those posts that are held out, or of the others."""

HELD_OUT = 5
"""Every fifth post is held out."""

FEWEST_POSTS = 100
_SPLIT_SHARE = 0.5
_TRIES, _PAUSE_S = 5, 0.2


@dataclass(frozen=True, slots=True)
class Learn:
    """When a mapping is learned, and how; by default only when somebody asks for it (``tidings learn``).

    ``after_posts``: as soon as so many posts are kept, if the mapping is still the hash. ``every_s``: so many seconds
    after the last one. ``imbalance``: when the most loaded matcher had more than so many times the mean load in each
    of the last ``batches`` batches. 0 means never. What a rule has learned is used if it promises more throughput.

    ``keep_posts``: in the partitioned layout, a sample of so many posts is kept in the checkpoint, to learn from; 0
    keeps none. ``split``: a term that is too much for one matcher gets several.

    ``partitioner``: ``refined`` is ours. ``salb``, ``hash`` and the cuts of a network of words by METIS, ``gc``,
    ``gfc``, ``gfcl`` and ``gnfcl``, are those of [S3TM] 3; METIS is the extra ``metis``. Those of [PS2] learn from
    subscriptions too: ``hybrid`` divides words and places, ``grid``, ``kd-tree`` and ``r-tree`` places, ``frequency``,
    ``hypergraph`` and ``metric`` words.

    >>> Learn(after_posts=20_000, imbalance=1.5).partitioner
    'refined'
    """

    partitioner: PartitionerName | PlacePartitionerName = "refined"
    split: bool = False
    after_posts: int = 0
    every_s: float = 0.0
    imbalance: float = 0.0
    batches: int = 10
    keep_posts: int = 200_000

    def __post_init__(self) -> None:
        self._check_partitioner()
        if min(self.after_posts, self.every_s, self.imbalance, self.keep_posts) < 0 or self.batches < 1:
            raise DataError(f"a rule has no number below 0, and 1 batch or more, got {self}; choose others")
        if self.after_posts > self.keep_posts:
            raise DataError(
                f"there will be no {self.after_posts:,} posts where {self.keep_posts:,} are kept; keep more"
            )

    def _check_partitioner(self) -> None:
        """Refuse what is unknown or not installed."""
        known = [*get_args(PartitionerName), *get_args(PlacePartitionerName)]
        if self.partitioner not in known:
            raise DataError(f"a partitioner is one of {', '.join(known)}, got {self.partitioner!r}; choose one of them")
        if not self.divides_places:
            self.made()
        elif self.split:
            raise DataError(f"{self.partitioner} gives no term several matchers; leave split out")
        else:
            place_partitioner(self.partitioner)

    @property
    def divides_places(self) -> bool:
        """Whether the partitioner is one of [PS2]."""
        return self.partitioner in get_args(PlacePartitionerName)

    def made(self) -> Partitioner:
        """The partitioner, if it is one of terms alone."""
        return partitioner(self.partitioner, _SPLIT_SHARE if self.split else math.inf)


@dataclass(frozen=True, slots=True)
class MappingLearner:
    """Learns mappings for the pipeline in a folder, in any process.

    To divide places, to split terms, or where subscriptions are not placed by their rarest terms, it has to know the
    ``registry``, and the better if it has the ``sample`` of the pipeline.
    """

    home: PipelineFolder
    rule: Learn = field(default_factory=Learn)
    registry: Registry | None = None
    sample: pa.Table | None = None

    def learn(
        self, matchers: int | None = None, count: Count | None = None, posts: pa.Table | None = None
    ) -> tuple[Mapping, MappingPage]:
        """A mapping to so many matchers, as many as there are if not said, and its page, which has no number yet.

        ``count`` gives other posts than those that the pipeline has kept; ``posts`` does so where places are divided.
        Cost: some 50 µs a post.
        """
        router, mapping, planned, placement = self._in_use()
        matchers = matchers or mapping.matchers
        mapping = mapping if mapping.matchers == matchers else Mapping.hashed(matchers)
        if self.rule.divides_places or mapping.parcels.gridt is not None:
            learned, before, after, seen = self._with_places(router, mapping, placement, posts)
        else:
            learned, before, after, seen = self._of_terms(router, mapping, placement, count or self._kept())
        at = utc_now().isoformat()
        return learned, MappingPage(planned, matchers, self.rule.partitioner, seen, before, after, at)

    def _of_terms(
        self, router: Router, mapping: Mapping, placement: PlacementPolicy, count: Count
    ) -> tuple[Mapping, Figures, Figures, int]:
        """A mapping of terms, what the one in use and it do to posts that are held out, and the posts learned from."""
        analyser, matchers = router.analyser, mapping.matchers
        held_out, sample = count(router.terms, analyser, True), count(router.terms, analyser, False)
        _check_posts(sample.posts)
        learned = self.rule.made().partition(sample, matchers)
        before = _figures(measure(mapping, held_out))
        if self.rule.split or placement.placer != "rarest":  # then other terms may file some subscriptions
            terms = self._placed(learned, analyser, placement)
            learned = self.rule.made().partition(count(terms, analyser, False), matchers)
            held_out = count(self._placed(learned, analyser, placement), analyser, True)
        return learned, before, _figures(measure(learned, held_out)), sample.posts

    def _with_places(
        self, router: Router, mapping: Mapping, placement: PlacementPolicy, posts: pa.Table | None
    ) -> tuple[Mapping, Figures, Figures, int]:
        """The same where places are divided, before or after."""
        if placement.placer != "rarest":
            raise DataError(
                f"where places are divided, subscriptions are placed by their rarest term, and this pipeline places "
                f"them by {placement.placer}; start it with placement='rarest', or choose refined"
            )
        held_out, sample = parted(self._seen() if posts is None else posts)
        _check_posts(sample.num_rows)
        learner = PlaceLearner(sample, held_out, self._subscriptions(), router.analyser)
        if self.rule.divides_places:
            learned = learner.learn(self.rule.partitioner, mapping.matchers)
        else:
            terms = self._placed(Mapping.hashed(mapping.matchers), router.analyser, placement)
            learned = self.rule.made().partition(Incidence.of(sample, terms, router.analyser), mapping.matchers)
        return learned, learner.figures(mapping), learner.figures(learned), sample.num_rows

    def _in_use(self) -> tuple[Router, Mapping, int, PlacementPolicy]:
        """The router, mapping and placement of the newest release, and the matchers of the pipeline's plan."""
        for left in reversed(range(_TRIES)):
            try:
                key, routers, older = newest_release(self.home.releases)
                files = routers or older
                mapping = self.home.mappings.mapping(key.mapping) if files else None
                if mapping is None:
                    break
                page, placement = self.home.mappings.page(key.mapping), PlacementPolicy.named(key.placement)
                planned = mapping.matchers if page is None else page.planned
                return Router.open(*files).tidied()[0], mapping, planned, placement
            except (OSError, DataError):  # a running pipeline may have removed a file just now
                if not left:
                    raise
                time.sleep(_PAUSE_S)
        raise DataError(
            f"nothing in {str(self.home.path)!r} is divided between matchers; let a pipeline run with "
            "layout='partitioned' and some subscriptions first"
        )

    def _kept(self) -> Count:
        parts = dict(zip((True, False), parted(self._seen()), strict=True))
        return lambda terms, analyser, held_out: Incidence.of(parts[held_out], terms, analyser)

    def _seen(self) -> pa.Table:
        posts = Seen(self.home.seen).table()
        if posts is None:
            raise DataError(
                f"no posts are kept in {str(self.home.seen)!r}; let the pipeline match some, or name a file"
            )
        return posts

    def _placed(self, mapping: Mapping, analyser: Analyser, placement: PlacementPolicy) -> Dictionary:
        placer, sample = placement.made(mapping.matchers), Sample(analyser, self.sample)
        return place(self._subscriptions(), mapping, sample, analyser, placer).router.terms

    def _subscriptions(self) -> pa.Table:
        if self.registry is None:
            raise DataError(
                "to divide places, to split terms, and where subscriptions are not placed by their rarest term, the "
                "registry has to be known; name it (tidings learn --registry)"
            )
        return self.registry.snapshot(self.registry.version)


def parted(posts: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The posts that are held out, and the others."""
    is_out = np.arange(posts.num_rows) % HELD_OUT == 0
    return posts.filter(pa.array(is_out)), posts.filter(pa.array(~is_out))


def _check_posts(count: int) -> None:
    if count < FEWEST_POSTS:
        raise DataError(f"{count:,} posts are too few to learn from; wait until {FEWEST_POSTS} were matched")


def _figures(quality: Quality) -> Figures:
    return Figures(round(quality.spread, 4), round(quality.imbalance, 4), round(quality.throughput, 4))
