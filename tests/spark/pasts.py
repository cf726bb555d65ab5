"""What befalls a pipeline that keeps posts in the tests of the past? A play: posts and subscriptions with a past come.

``python -m tests.spark.pasts FOLDER SEED POINT`` plays it, and is killed with all its processes when it is at the
point, or a little later. Whoever plays it again with the same folder and seed goes on where it was.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.sql import SparkSession

from tests.spark import oracle
from tests.spark.driver import STEPS, aim, session_of
from tidings.cluster import kept_posts
from tidings.cluster.delta import DeltaSink
from tidings.cluster.kept_posts import KeptPosts
from tidings.cluster.learning import Learn, MappingLearner
from tidings.cluster.past import PipelinePast
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan, Releases
from tidings.cluster.sinks import ParquetSink
from tidings.registry import Registry
from tidings.spark.pipeline import Pipeline, Running
from tidings.spark.sources import posts_from_files

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


@dataclass(frozen=True, slots=True)
class PastPlay:
    """Five scenes, in each of which posts come, and mostly subscriptions that ask for those of scenes before.

    The seed says who, which sink takes the matches and how the index is laid out.
    """

    folder: Path
    session: SparkSession
    seed: int

    @property
    def registry(self) -> Registry:
        return Registry(self.folder / "registry")

    @property
    def home(self) -> PipelineFolder:
        return PipelineFolder(self.folder / "state")

    @property
    def posts(self) -> Path:
        return self.folder / "posts"

    @property
    def layout(self) -> str:
        return ("replicated", "words", "hybrid")[self.seed % 3]

    def play(self) -> None:
        """From the scene that was under way to the last."""
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
        sink = (DeltaSink if self.seed % 2 else ParquetSink)(self.folder / "matches")
        stream = posts_from_files(self.session, self.posts, files_per_batch=1)
        plan = Plan("replicated") if self.layout == "replicated" else Plan("partitioned", 3)
        return Pipeline(stream, self.registry, sink, self.home.path, plan=plan, keep=KEEP)


def main() -> None:
    os.setsid()  # a group of its own, which is killed together
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    folder, seed, point = sys.argv[1:]
    play = PastPlay(Path(folder), session_of("local[2,4]"), int(seed))
    late_s = random.Random(seed).uniform(0, 3) if int(seed) % 5 == 4 else 0.0
    kill = partial(os.killpg, 0, signal.SIGKILL)
    aim(point, threading.Timer(late_s, kill).start if late_s else kill, STEPS | OF_PASTS)
    play.play()
    time.sleep(late_s)
    os.killpg(0, signal.SIGTERM)  # it never came there, which is told by how it ends


if __name__ == "__main__":
    main()
