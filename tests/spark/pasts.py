"""What befalls a pipeline that keeps posts in the tests of the past? Posts and subscriptions with a past come."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from tests.spark import oracle
from tests.spark.plays import Play, play_until_killed
from tidings.cluster import kept_posts
from tidings.cluster.kept_posts import KeptPosts
from tidings.cluster.learning import Learn, MappingLearner
from tidings.cluster.past import PipelinePast
from tidings.cluster.releases import Plan, Releases
from tidings.spark.pipeline import Pipeline, Running

SCENES = 5
KEEP = timedelta(days=1)
OF_PASTS: dict[str, tuple[Any, str]] = {
    "new": (PipelinePast, "pinned"),
    "index": (Releases, "compiled"),
    "job": (PipelinePast, "job"),
    "aside": (KeptPosts, "aside"),
    "kept": (KeptPosts, "take"),
    "section": (KeptPosts, "_put"),
    "merge": (KeptPosts, "merge"),
}
POINTS = [
    f"{when} {step} {count}"
    for step, counts in (
        *(("new", (2, 4)), ("index", (1, 2)), ("job", (3,)), ("pin", (2, 4)), ("match", (2, 4)), ("files", (3,))),
        *(("kept", (1, 3)), ("section", (2,)), ("merge", (3,)), ("report", (3,)), ("forget", (3,))),
    )
    for count in counts
    for when in ("before", "after")
]

IN_A_JOB = ["after new 2", "after job 3", "before match 4", "after pin 3"]
"""Where a worker or an executor is killed, a little later: while a past is found, mostly."""


class PastPlay(Play):
    """Five scenes, in each of which posts come, and mostly subscriptions that ask for those of scenes before.

    The seed says who, which sink takes the matches and how the index is laid out.
    """

    __slots__ = ()

    @property
    def layout(self) -> str:
        return ("replicated", "words", "hybrid")[self.seed % 3]

    def play(self) -> None:
        with patch.multiple(kept_posts, MANY_SECTIONS=2, SMALL_POSTS=700):
            self._play()

    def _play(self) -> None:
        if not (self.folder / "scene").exists():
            self.registry.add(oracle.subscriptions(random.Random(self.seed), 60))
        running: Running | None = None
        for scene in range(self._scene(), SCENES):
            (self.folder / "_scene").write_text(str(scene))
            (self.folder / "_scene").replace(self.folder / "scene")
            rng = random.Random(100 * self.seed + scene)
            if not (self.posts / f"{scene:06}.parquet").exists():
                oracle.write_posts(self.posts, scene, bad=scene)
            if rng.random() < 0.8:
                oracle.ask_for_the_past(self.registry, rng)
            if self.layout != "replicated" and scene == 2 and self.home.mappings.newest(3) == "hash-3":
                self._learn()
            running = running or self._pipeline().start()
            running.process_all()
        if running is not None:
            running.stop()

    def _learn(self) -> None:
        rule = Learn("hybrid" if self.layout == "hybrid" else "salb")
        self.home.mappings.put(*MappingLearner(self.home, rule, self.registry).learn(None))

    def _scene(self) -> int:
        file = self.folder / "scene"
        return int(file.read_text()) if file.exists() else 0

    def _pipeline(self) -> Pipeline:
        plan = Plan("replicated") if self.layout == "replicated" else Plan("partitioned", 3)
        return Pipeline(self.stream(), self.registry, self.sink(), self.home.path, plan=plan, keep=KEEP)


if __name__ == "__main__":
    play_until_killed(PastPlay, OF_PASTS, late_every=5)
