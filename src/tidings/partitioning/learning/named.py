"""Which partitioners are there, by the names that people give them?"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

from tidings.model import DataError
from tidings.partitioning.learning.network import Network, pymetis
from tidings.partitioning.learning.partitioner import Hashed, Partitioner
from tidings.partitioning.learning.refined import Refined
from tidings.partitioning.learning.salb import Salb

PartitionerName = Literal["refined", "salb", "hash", "gc", "gfc", "gfcl", "gnfcl"]
_NETWORKS: dict[str, Callable[..., Partitioner]] = {
    "gc": partial(Network, cut="gC"),
    "gfc": partial(Network, cut="gFC"),
    "gfcl": partial(Network, cut="gFCL"),
    "gnfcl": partial(Network, cut="gNFCL"),
}
_ALL: dict[str, Callable[..., Partitioner]] = {"refined": Refined, "salb": Salb, "hash": Hashed, **_NETWORKS}


def partitioner(name: str, share: float = math.inf) -> Partitioner:
    """The partitioner of a name; one that needs METIS is refused where METIS is missing.

    >>> partitioner("salb")
    Salb(share=inf, copies=0.0, attraction=0.0, imbalance='sd/mean')
    """
    if name not in _ALL:
        known = ", ".join(get_args(PartitionerName))
        raise DataError(f"a partitioner is one of {known}, got {name!r}; choose one of them")
    if name in _NETWORKS:
        pymetis()
    return _ALL[name](share=share)
