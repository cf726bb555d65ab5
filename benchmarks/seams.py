"""What does a user wait for? Each figure by the public surface of tidings alone, so that any two commits can run it.

``python seams.py FIGURE FOLDER``: the folder has ``asked.parquet``, ``sample.parquet`` and ``posts.parquet``. It says
``ready`` when it is warm; then each line on stdin is one round, and the answer is its seconds. Which tidings it is, is
up to PYTHONPATH.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow.parquet as pq

import tidings

ROWS = 16_384
ONE_BY_ONE = 2_000

Round = Callable[[], object]


def _engine(folder: Path) -> tidings.Engine:
    engine = tidings.Engine(sample=pq.read_table(folder / "sample.parquet"))
    engine.subscribe_many(pq.read_table(folder / "asked.parquet"))
    return engine


def match(folder: Path) -> Round:
    """Tables of posts in, tables of named matches out."""
    engine, posts = _engine(folder), pq.read_table(folder / "posts.parquet")

    def once() -> None:
        for start in range(0, posts.num_rows, ROWS):
            found: Any = engine.match(posts.slice(start, ROWS))
            if hasattr(found, "table"):
                found.table()

    return once


def publish(folder: Path) -> Round:
    """Posts in one by one, and how many matches they have."""
    engine, posts = _engine(folder), pq.read_table(folder / "posts.parquet").slice(0, ONE_BY_ONE).to_pylist()
    return lambda: [len(engine.publish(**post)) for post in posts]


def opening(folder: Path) -> Round:
    """Opening the folder of an engine."""
    home = mkdtemp(dir=folder)
    with tidings.Engine(home, sample=pq.read_table(folder / "sample.parquet")) as engine:
        engine.subscribe_many(pq.read_table(folder / "asked.parquet"))

    def once() -> None:
        with tidings.Engine(home):
            pass

    return once


def spark(folder: Path) -> Round:
    """A DataFrame of posts in, matches to the sink that forgets, on two cores."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    from tidings.spark import match

    settings = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.driver.memory": "2g"}
    session = SparkSession.builder.config(map=settings).getOrCreate()
    posts = session.read.parquet(str(folder / "posts.parquet"))
    found = match(posts, pq.read_table(folder / "asked.parquet"), sample=pq.read_table(folder / "sample.parquet"))
    return lambda: found.write.format("noop").mode("overwrite").save()


FIGURES = {"match": match, "publish": publish, "opening": opening, "spark": spark}


def main() -> None:
    once = FIGURES[sys.argv[1]](Path(sys.argv[2]))
    once()
    once()
    _say("ready")
    for _ in sys.stdin:
        began = time.perf_counter()
        once()
        _say(repr(time.perf_counter() - began))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
