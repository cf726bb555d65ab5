"""How are posts dropped before they are read? By coins of the records that they are in, thrown in the JVM.

Of what an overload drops, parsing is most of the cost: of 80,000 posts from Kafka it takes longer to parse them and to
hand them to Python than to fetch them. So a source that can tell its records apart as they come lets the pipeline
choose first. A coin is a hash of the record and of the seed of that coin: whoever runs the batch again drops the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from tidings.cluster.cut import CHOSEN, LOOKED_AT, SPARED, Cut
from tidings.spark.kafka import KafkaPosts

_DROPPED = "dropped"
_COIN_SIDES = 2**64


@dataclass(frozen=True, slots=True)
class Remaining:
    """The publications that a cut does not drop, with the column CHOSEN, and how many it drops."""

    posts: DataFrame
    _observation: Observation

    @classmethod
    def of(cls, source: KafkaPosts, records: DataFrame, cut: Cut) -> Remaining:
        observation = Observation()
        codes = _coin(LOOKED_AT, cut.looked_at) + _coin(SPARED, cut.spared)
        thrown = records.withColumn(CHOSEN, codes.cast("tinyint"))
        counted = thrown.observe(observation, F.count_if(F.col(CHOSEN) == 0).alias(_DROPPED))
        return cls(source.read(counted.where(F.col(CHOSEN) > 0), CHOSEN), observation)

    @property
    def dropped(self) -> int:
        """How many were dropped; it is known after an action."""
        return int(self._observation.get[_DROPPED])


def _coin(side: int, chance: float) -> Column:
    """``side`` with that chance, else 0: another side is another coin."""
    bound = min(round(chance * _COIN_SIDES), _COIN_SIDES - 1) - _COIN_SIDES // 2  # a hash is a signed number
    return F.when(F.xxhash64(F.lit(side), F.col("value")) <= bound, side).otherwise(0)
