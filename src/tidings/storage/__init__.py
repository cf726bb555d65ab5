"""Publications and subscriptions kept by label and time, on an LSM tree: past and future ([LSM])."""

from tidings.storage.entries import Found, Operation, Publishing, StoredPublication, StoredSubscription, Subscribing
from tidings.storage.granularity import CELLS, FLAT, TOPICS, Fixed, Flat, Granularity, Variable, fixed_cells
from tidings.storage.keys import EARLIEST, LATEST
from tidings.storage.rep_queries import RepQueries
from tidings.storage.spaces import KeySpace, MemorySpace
from tidings.storage.store import Clock, DualDB, LabelStore, TwoDB

__all__ = [
    "CELLS",
    "EARLIEST",
    "FLAT",
    "LATEST",
    "TOPICS",
    "Clock",
    "DualDB",
    "Fixed",
    "Flat",
    "Found",
    "Granularity",
    "KeySpace",
    "LabelStore",
    "MemorySpace",
    "Operation",
    "Publishing",
    "RepQueries",
    "StoredPublication",
    "StoredSubscription",
    "Subscribing",
    "TwoDB",
    "Variable",
    "fixed_cells",
]
