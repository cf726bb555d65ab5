"""Which subscriptions do these publications answer, by place first? GI2, the index of a worker of [PS2]."""

from tidings.index.gi2.gi2 import GI2

__all__ = ["GI2"]
