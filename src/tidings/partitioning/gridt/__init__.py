"""Which parcels does a place have? The kdt-tree of [PS2] flattened to a grid: regions, of which some share words."""

from tidings.partitioning.gridt.areas import area_of
from tidings.partitioning.gridt.grid import Grid
from tidings.partitioning.gridt.gridt import Gridt, WordShare

__all__ = ["Grid", "Gridt", "WordShare", "area_of"]
