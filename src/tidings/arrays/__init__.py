"""Arrays that grow, tables of strings, files of arrays, files that are replaced at once, locks."""

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
IdArray = npt.NDArray[np.int32]
NamedArrays = dict[str, npt.NDArray[Any]]
"""Arrays as a file of arrays has them, each under its name."""

__all__ = ["IdArray", "IntArray", "NamedArrays"]
