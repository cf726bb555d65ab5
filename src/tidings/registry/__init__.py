"""Who asked for what, and since when? A log of subscriptions: the durable registry, and its twin in memory."""

from tidings.registry.folding import fold
from tidings.registry.history import Follower
from tidings.registry.log import History, Log, Receipt, Row
from tidings.registry.memory import MemoryLog
from tidings.registry.registry import Registry
from tidings.registry.tables import Tidied

__all__ = ["Follower", "History", "Log", "MemoryLog", "Receipt", "Registry", "Row", "Tidied", "fold"]
