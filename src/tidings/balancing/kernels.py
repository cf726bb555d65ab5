"""What changes if parcels go from one matcher to another? The loop over their posts, compiled.

Symbols: parcel p was touched by the posts ``rows[starts[p] : starts[p + 1]]`` (int64 both); ``counts[m, i]`` (int32):
for so many of the parcels of matcher m post i is sent; ``posts[m]`` (int64): so many posts are sent to m.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False

from __future__ import annotations

import numba


@numba.njit(cache=True, nogil=True)
def give(parcels, heavy, light, starts, rows, counts, posts, heavy_posts, light_posts):
    """Let parcels go from ``heavy`` to ``light``, one after another: ``counts`` and ``posts`` are changed.

    ``heavy_posts`` and ``light_posts`` int64[parcels] get the posts of both after each of them.
    """
    for i in range(len(parcels)):
        for k in range(starts[parcels[i]], starts[parcels[i] + 1]):
            row = rows[k]
            counts[heavy, row] -= 1
            posts[heavy] -= counts[heavy, row] == 0
            posts[light] += counts[light, row] == 0
            counts[light, row] += 1
        heavy_posts[i], light_posts[i] = posts[heavy], posts[light]
