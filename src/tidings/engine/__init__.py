"""One process: subscribe, publish, get the matches."""

from tidings.engine.earlier import Joined
from tidings.engine.engine import Engine
from tidings.engine.stats import Stats
from tidings.engine.subscribed import Subscribed

__all__ = ["Engine", "Joined", "Stats", "Subscribed"]
