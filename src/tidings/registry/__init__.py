"""Who asked for what, and since when? The durable log of subscriptions."""

from tidings.registry.folding import fold
from tidings.registry.history import Follower
from tidings.registry.registry import History, Receipt, Registry
from tidings.registry.tables import Tidied

__all__ = ["Follower", "History", "Receipt", "Registry", "Tidied", "fold"]
