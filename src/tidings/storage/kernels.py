"""In which order do entries lie by key? Counted, not compared."""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

from __future__ import annotations

import numba


@numba.njit(cache=True, nogil=True)
def sort_by_number(numbers, ends, order):
    """``order`` int32[n]: the entries by their ``numbers`` int[n], those with the same one in the order they have.

    ``ends`` int64[keys]: where the entries of each number begin; afterwards, where they end.
    """
    for entry in range(len(numbers)):
        number = numbers[entry]
        order[ends[number]] = entry
        ends[number] += 1
