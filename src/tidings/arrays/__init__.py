"""Arrays that grow, tables of strings, files of arrays, files that are replaced at once, locks."""

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
IdArray = npt.NDArray[np.int32]

__all__ = ["IdArray", "IntArray"]
