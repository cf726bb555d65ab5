"""One process: subscribe, publish, get the matches."""

from tidings.engine.engine import Engine, Stats

__all__ = ["Engine", "Stats"]
