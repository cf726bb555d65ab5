"""The grid that regions are made of."""

from tidings.terms.even_grid.grid import MAX_LEVEL, Grid

__all__ = ["MAX_LEVEL", "Grid"]
