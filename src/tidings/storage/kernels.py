"""In which order do entries, and the rows of sets, lie by key? Counted, not compared."""

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


@numba.njit(cache=True, nogil=True)
def list_by_number(offsets, ids, ends, places):
    """``places`` int32[n]: the rows that have each of the ``ids`` int32[n], by id and in order.

    Row r has ``ids[offsets[r] : offsets[r + 1]]``. ``ends`` int64[ids]: where the list of each id begins; afterwards,
    where it ends.
    """
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            number = ids[at]
            places[ends[number]] = row
            ends[number] += 1
