"""What befalls a pipeline that learns in the tests of switches? Posts come, and mappings and plans change."""

from __future__ import annotations

import random
from functools import partial
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from tests.spark import oracle
from tests.spark.plays import Play, play_until_killed
from tidings.cluster import Cluster
from tidings.cluster.following import Balance
from tidings.cluster.learning import Learn, MappingLearner
from tidings.cluster.mappings import Figures, MappingPage, Mappings
from tidings.cluster.preparing import SMALL_BYTES, Preparer
from tidings.cluster.releases import Plan
from tidings.cluster.seen import Seen
from tidings.cluster.shares import Shares
from tidings.model import DataError
from tidings.partitioning import Mapping, Move, NamedParcels, Owners
from tidings.placement import PlacerName
from tidings.spark import batches
from tidings.spark.batches import Handler
from tidings.spark.pipeline import Pipeline, Running

SCENES = 5
OF_SWITCHES: dict[str, tuple[Any, str]] = {
    "put": (Mappings, "put"),
    "save": (NamedParcels, "save"),
    "place": (Shares, "fill"),
    "seen": (Seen, "put"),
    "tidy": (Mappings, "forget_before"),
    "look": (Handler, "_look"),
    "move": (Mappings, "move"),
    "rehome": (Cluster, "_rehome"),
}
POINTS = [
    f"{when} {step} {count}"
    for step, counts in (("place", (2, 3)), ("put", (1, 2)), ("save", (1,)), ("seen", (1, 3)), ("tidy", (2, 4)))
    for count in counts
    for when in ("before", "after")
] + [
    f"{when} {step} {count}"
    for step, counts in (("pin", (3, 4)), ("release", (4, 7)), ("match", (3,)), ("report", (3,)), ("forget", (3, 4)))
    for count in counts
    for when in ("before", "after")
]

FIRST_MOVING = 30
"""The first seed of plays in which parcels move."""

MOVING_POINTS = [
    f"{when} {step} {count}"
    for step, counts in (("move", (1, 2)), ("rehome", (1, 2)), ("release", (4,)), ("pin", (3,)))
    for count in counts
    for when in ("before", "after")
]


class SwitchPlay(Play):
    """Five scenes, in each of which posts come; the seed says what else happens, and who compiles a new mapping."""

    __slots__ = ()

    @property
    def is_moving(self) -> bool:
        """Whether parcels move, most of the time, by somebody's order and by themselves."""
        return self.seed >= FIRST_MOVING

    @property
    def is_prepared(self) -> bool:
        """Whether releases of new mappings are compiled beside the batches, however small they are."""
        return self.is_moving and self.seed % 3 == 0

    def play(self) -> None:
        small_bytes = 0 if self.is_prepared else SMALL_BYTES
        with patch.object(batches, "Preparer", partial(Preparer, small_bytes=small_bytes)):
            self._play()

    def _play(self) -> None:
        if not (self.folder / "plan").exists():
            self.registry.add(oracle.subscriptions(random.Random(self.seed), 150))
            self._note("plan", 3)
        running: Running | None = None
        for scene in range(self._noted("scene"), SCENES):
            self._note("scene", scene)
            rng = random.Random(100 * self.seed + scene)
            if not (self.posts / f"{scene:06}.parquet").exists():
                oracle.write_posts(self.posts, scene)
            if rng.random() < 0.6:
                oracle.change(self.registry, rng)
            deeds = (
                ["move", "move", "move", "learn"] if self.is_moving else ["learn", "learn", "any", "plan", "nothing"]
            )
            deed = rng.choice(deeds) if scene else "nothing"
            if deed == "plan":
                self._note("plan", rng.randint(1, 6))
                if running is not None:
                    running.stop()
                    running = None
            elif deed != "nothing":
                self._switch(deed, rng)
            running = running or self._pipeline().start()
            running.process_all()
        if running is not None:
            running.stop()

    def _pipeline(self) -> Pipeline:
        rule = Learn("salb", after_posts=250 if self.seed % 3 == 0 else 0)
        plan = Plan("partitioned", self._noted("plan"))
        placer = get_args(PlacerName)[(self.seed + 2) % 3]
        balance = Balance(uneven=1.05, hits=1, pause=0) if self.is_moving else None
        return Pipeline(
            self.stream(),
            self.registry,
            self.sink(),
            self.home.path,
            plan=plan,
            learn=rule,
            placement=placer,
            balance=balance,
        )

    def _switch(self, deed: str, rng: random.Random) -> None:
        """To other owners, to a mapping that was learned for any number of matchers, or to one that was made up."""
        if deed == "move":
            self._move(rng)
        elif deed == "learn":
            rule = Learn(rng.choice(["salb", "refined"]), split=rng.random() < 0.3)
            try:
                learned = MappingLearner(self.home, rule, self.registry).learn(rng.choice([None, rng.randint(1, 6)]))
            except DataError as error:
                assert "too few" in str(error) or "no posts" in str(error) or "divided" in str(error), error
            else:
                self.home.mappings.put(*learned)
        else:
            words = sorted({word for text in oracle.sample()[0] for word in text.lower().split()})
            matchers = rng.randint(2, 6)
            counts = [rng.choice([1, 1, 2]) for _ in words]
            owners = [matcher for count in counts for matcher in rng.sample(range(matchers), count)]
            mapping = Mapping.learned(
                pa.array(words), Owners.of_counts(counts, np.array(owners, dtype=np.int32)), matchers
            )
            none = Figures(1.0, 1.0, 1.0)
            at = "2026-01-01T00:00:00+00:00"
            self.home.mappings.put(mapping, MappingPage(self._noted("plan"), matchers, "any", 0, none, none, at))

    def _move(self, rng: random.Random) -> None:
        """A third of the parcels, to any matchers; none where a mapping with others is about to be taken."""
        pin = self.home.journal.pin(max(self.home.journal.batches))
        mapping = None if pin is None else self.home.mappings.mapping(pin.mapping)
        assert mapping is not None
        parcels = rng.sample(range(mapping.parcels.count), mapping.parcels.count // 3)
        moves = [Move(parcel, rng.randrange(mapping.matchers)) for parcel in parcels]
        try:
            self.home.move(moves)
        except DataError as error:
            assert "about to be taken" in str(error), error

    def _note(self, what: str, number: int) -> None:
        (self.folder / f"_{what}").write_text(str(number))
        (self.folder / f"_{what}").replace(self.folder / what)

    def _noted(self, what: str) -> int:
        path = self.folder / what
        return int(path.read_text()) if path.exists() else 0


if __name__ == "__main__":
    play_until_killed(SwitchPlay, OF_SWITCHES, late_every=3)
