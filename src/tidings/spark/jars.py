"""Where are the jars with which Spark talks to Kafka?

PySpark comes without them. In a checkout of tidings ``make kafka`` fetches them, with a broker, into a folder of the
user, which the environment variable ``TIDINGS_JARS`` may name. Anybody else lets Spark fetch them:
``spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0``, in the version of their PySpark.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tidings.model import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def jar_folder() -> Path:
    """Where ``make kafka`` puts what it fetches, outside of the checkout."""
    return Path(os.environ.get("TIDINGS_JARS") or Path.home() / ".cache" / "tidings" / "jars").absolute()


def connector_jars() -> list[Path]:
    """The jars of Spark's Kafka connector that are there, as for ``spark.jars``; none before ``make kafka``."""
    return sorted((jar_folder() / "connector").glob("*.jar"))


def add_connector(spark: SparkSession) -> None:
    """Let a session that runs already use ``format("kafka")``."""
    jars = connector_jars()
    if not jars:
        raise DataError(f"there is no Kafka connector in {str(jar_folder())!r}; run: make kafka ARGS=install")
    for jar in jars:
        spark.sql(f"ADD JAR '{jar.as_uri()}'")
