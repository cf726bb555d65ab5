"""One process: subscribe, publish, get the matches."""

from tidings.engine.engine import Engine
from tidings.engine.past import Subscribed
from tidings.engine.stats import Stats

__all__ = ["Engine", "Stats", "Subscribed"]
