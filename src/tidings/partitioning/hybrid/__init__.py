"""How are words and places divided together? The partitioners of [PS2], and what a workload costs with them."""

from tidings.partitioning.hybrid.bases import Space, Text
from tidings.partitioning.hybrid.hybrid import Hybrid
from tidings.partitioning.hybrid.leaves import KdtLeaves
from tidings.partitioning.hybrid.measuring import Division, measure
from tidings.partitioning.hybrid.named import PlacePartitionerName, place_partitioner
from tidings.partitioning.hybrid.paper import PaperHybrid
from tidings.partitioning.hybrid.workload import Workload, sample_costs

__all__ = [
    "Division",
    "Hybrid",
    "KdtLeaves",
    "PaperHybrid",
    "PlacePartitionerName",
    "Space",
    "Text",
    "Workload",
    "measure",
    "place_partitioner",
    "sample_costs",
]
