"""Which parcels does a place have? The kdt-tree of [PS2] flattened to a grid: regions, of which some share words."""

from tidings.partitioning.gridt.gridt import Gridt, WordShare

__all__ = ["Gridt", "WordShare"]
