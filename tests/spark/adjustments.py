"""What befalls a pipeline that adjusts its load in the tests of kills? Posts come, and all is divided anew.

``python -m tests.spark.adjustments FOLDER SEED POLICY WHO POINT`` plays it, and somebody is killed
(:mod:`tests.spark.plays`).
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, ClassVar
from unittest.mock import patch

from tests.spark import oracle
from tests.spark.plays import Play, play_until_killed
from tidings.balancing import Global
from tidings.cluster import Cluster, following, pipeline_repartitioning
from tidings.cluster.following import Balance, PipelineBalancer
from tidings.cluster.mappings import Mappings
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.preparing import SMALL_BYTES, Preparer
from tidings.cluster.releases import Plan
from tidings.cluster.shares import Shares
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.spark import batches
from tidings.spark.pipeline import Pipeline

SCENES = 9
EAGER = Balance(uneven=1.05, hits=1, pause=0, scope="global", check_s=0.0, few=0.75)
OF_ADJUSTMENTS: dict[str, tuple[Any, str]] = {
    "adopt": (PipelineFolder, "adopt"),
    "beside": (Shares, "adopt"),
    "retire": (PipelineFolder, "retire"),
    "anew": (Shares, "retire"),
    "move": (Mappings, "move"),
    "rehome": (Cluster, "_rehome"),
}


def _around(*steps: tuple[str, int]) -> list[str]:
    return [f"{when} {step} {count}" for step, count in steps for when in ("before", "after")]


@contextmanager
def adjusts_always() -> Iterator[None]:
    """Let each check find a better mapping, wait for it, and let nothing rest."""
    look = PipelineBalancer.look

    def waited(balancer: PipelineBalancer, batch: int) -> None:
        look(balancer, batch)
        balancer.wait()

    with ExitStack() as patches:
        for owner, name, value in (
            (Global, "is_better", lambda *_: True),
            (following, "_REST", 0),
            (pipeline_repartitioning, "FEWEST_POSTS", 100),
            (PipelineBalancer, "look", waited),
        ):
            patches.enter_context(patch.object(owner, name, value))
        yield


class AdjustmentPlay(Play):
    """Nine scenes, in each of which posts come; before it and meanwhile people subscribe and unsubscribe.

    Load is balanced by the local and the global adjustment of [PS2].
    """

    __slots__ = ()
    rule: ClassVar[Balance] = EAGER
    points: ClassVar[list[str]] = _around(
        ("adopt", 1), ("beside", 1), ("retire", 1), ("anew", 1), ("move", 2), ("rehome", 2)
    )
    """Where a driver is killed."""
    in_a_job: ClassVar[list[str]] = ["after beside 1", "before match 3", "after anew 1", "before match 6"]
    """Where a worker or an executor is killed, a little later: in the next batch, or in this."""

    @property
    def is_prepared(self) -> bool:
        """Whether releases of new mappings are compiled beside the batches, however small they are."""
        return self.seed % 5 == 4

    def play(self) -> None:
        small_bytes = 0 if self.is_prepared else SMALL_BYTES
        with adjusts_always(), patch.object(batches, "Preparer", partial(Preparer, small_bytes=small_bytes)):
            if self.registry.version < 1:
                self.registry.add(oracle.subscriptions(random.Random(self.seed), 150))
            first = self._scene()
            self._come(first)
            with self._pipeline().start() as running:
                for scene in range(first, SCENES):
                    self._come(scene)
                    with self._changing(scene):
                        running.process_all()

    def _scene(self) -> int:
        """The last one that has begun."""
        return max(len(list(self.posts.glob("*.parquet"))) - 1, 0)

    def _come(self, scene: int) -> None:
        """The posts of a scene, if they are not there yet, and an order to move if it is time for one."""
        if (self.posts / f"{scene:06}.parquet").exists():
            return
        rng = random.Random(100 * self.seed + scene)
        if scene:
            self.registry.add(oracle.subscriptions(rng, 30))
        if scene % 3 == 2:
            self._move(rng)
        oracle.write_posts(self.posts, scene)

    @contextmanager
    def _changing(self, scene: int) -> Iterator[None]:
        """Somebody subscribes and unsubscribes while batches run."""
        rng, enough = random.Random(100 * self.seed + scene + 50), threading.Event()

        def change() -> None:
            while not enough.wait(0.3):
                oracle.change(self.registry, rng)

        thread = threading.Thread(target=change)
        thread.start()
        try:
            yield
        finally:
            enough.set()
            thread.join()

    def _pipeline(self) -> Pipeline:
        plan = Plan("partitioned", 3)
        return Pipeline(self.stream(), self.registry, self.sink(), self.home.path, plan=plan, balance=self.rule)

    def _move(self, rng: random.Random) -> None:
        """An order; none where a mapping with other parcels is about to be taken."""
        newest = self.home.mappings.mapping(self.home.mappings.newest(3))
        assert newest is not None
        try:
            self.home.move(self._ordered(newest, rng))
        except DataError as error:
            assert "about to be taken" in str(error), error

    def _ordered(self, mapping: Mapping, rng: random.Random) -> Iterable[Move]:
        """A third of the parcels, to any matchers."""
        parcels = rng.sample(range(mapping.parcels.count), mapping.parcels.count // 3)
        return [Move(parcel, rng.randrange(3)) for parcel in parcels]


class PadresPlay(AdjustmentPlay):
    """The same, balanced by [PADRES]. Orders bring everything to one matcher, which is overloaded then."""

    __slots__ = ()
    rule: ClassVar[Balance] = Balance(scope="padres", pause=1)
    points: ClassVar[list[str]] = _around(
        ("move", 2), ("move", 4), ("rehome", 1), ("rehome", 2), ("pin", 4), ("keep", 4)
    )
    in_a_job: ClassVar[list[str]] = ["after move 2", "before match 4", "after rehome 2", "before match 7"]

    def _ordered(self, mapping: Mapping, rng: random.Random) -> Iterable[Move]:
        to = rng.randrange(3)
        return [Move(parcel, to) for parcel in range(mapping.parcels.count)]


PLAYS: dict[str, type[AdjustmentPlay]] = {"global": AdjustmentPlay, "padres": PadresPlay}


if __name__ == "__main__":
    play_until_killed(PLAYS[sys.argv.pop(3)], OF_ADJUSTMENTS)
