"""Which cells and regions of a map does an area touch? A grid of equal cells, of which some form a region."""

from tidings.terms.even_grid.grid import Grid
from tidings.terms.even_grid.regions import BoxSets, of_areas, regions_of, touched

__all__ = ["BoxSets", "Grid", "of_areas", "regions_of", "touched"]
