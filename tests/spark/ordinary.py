"""An ordinary script, run by ``test_interpreter.py``: prints what ``match`` and a pipeline say of Spark's workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

from tidings.model import DataError
from tidings.spark import MemorySink, Pipeline, match

ASKED = pa.table({"id": ["s"], "query": ["fire"]})


def main(folder: Path) -> None:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = (
        builder.config("spark.log.level", "ERROR").config("spark.sql.warehouse.dir", str(folder / "w")).getOrCreate()
    )
    os.environ["PYSPARK_PYTHON"] = sys.executable  # too late: the session has started
    posts = spark.createDataFrame([("p", "fire")], "id string, text string")
    stream = spark.readStream.format("rate").load().selectExpr("string(value) AS id", "'fire' AS text")
    for step in (
        lambda: match(posts, ASKED),
        lambda: Pipeline(stream, folder / "registry", MemorySink(), folder / "checkpoint").start(),
    ):
        try:
            step()
        except DataError as error:
            print(f"refused: {error}")
    print("left behind:", sorted(path.name for path in folder.iterdir() if path.name != "w"))
    spark.stop()


if __name__ == "__main__":
    with TemporaryDirectory() as home:
        main(Path(home))
