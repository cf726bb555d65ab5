"""How is a mapping learned from what was published, and how good is it?"""

from tidings.partitioning.learning.incidence import Incidence
from tidings.partitioning.learning.metrics import Quality, measure
from tidings.partitioning.learning.named import PartitionerName, partitioner
from tidings.partitioning.learning.network import Network
from tidings.partitioning.learning.partitioner import Hashed, Partitioner
from tidings.partitioning.learning.refined import Refined
from tidings.partitioning.learning.salb import Salb
from tidings.partitioning.learning.splitting import split

__all__ = [
    "Hashed",
    "Incidence",
    "Network",
    "Partitioner",
    "PartitionerName",
    "Quality",
    "Refined",
    "Salb",
    "measure",
    "partitioner",
    "split",
]
