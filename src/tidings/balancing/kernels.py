"""What changes if parcels go from one matcher to another? The loops over what they are touched by, compiled.

Symbols: parcel p is touched by the rows ``rows[starts[p] : starts[p + 1]]`` (int64 both), which are posts, or
subscriptions; row i counts ``weights[i]`` (float64); ``counts[m, i]`` (int32): for so many of the parcels of matcher m
row i is there; ``sums[m]`` (float64): the weights of the rows that are at m.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False

from __future__ import annotations

import numba


@numba.njit(cache=True, nogil=True)
def give(parcels, heavy, light, starts, rows, weights, counts, sums, heavy_sums, light_sums):
    """Let parcels go from ``heavy`` to ``light``, one after another: ``counts`` and ``sums`` are changed.

    ``heavy_sums`` and ``light_sums`` float64[parcels] get the sums of both after each of them.
    """
    for i in range(len(parcels)):
        for k in range(starts[parcels[i]], starts[parcels[i] + 1]):
            row = rows[k]
            counts[heavy, row] -= 1
            sums[heavy] -= weights[row] * (counts[heavy, row] == 0)
            sums[light] += weights[row] * (counts[light, row] == 0)
            counts[light, row] += 1
        heavy_sums[i], light_sums[i] = sums[heavy], sums[light]


@numba.njit(cache=True, nogil=True)
def shares(parcels, heavy, light, starts, rows, weights, counts, less, more):
    """What is at ``heavy``, divided evenly between those of its parcels for which it is there.

    ``less`` float64[parcels] gets the share of each parcel, ``more`` that of what is not at ``light`` yet.
    """
    for i in range(len(parcels)):
        for k in range(starts[parcels[i]], starts[parcels[i] + 1]):
            row = rows[k]
            share = weights[row] / counts[heavy, row]
            less[i] += share
            more[i] += share * (counts[light, row] == 0)
