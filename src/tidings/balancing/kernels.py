"""What changes if parcels go from one matcher to another? The loops over what they are touched by, compiled.

Symbols: parcel p is touched by the rows ``rows[starts[p] : starts[p + 1]]`` (int64 both), which are posts, or
subscriptions; row i counts ``weights[i]`` (float64); ``counts[m, i]`` (int32): for so many of the parcels of matcher m
row i is there; ``before[m, i]`` (bool): whether it was there at first. float64[matchers]: ``sums``, the weights of the
rows that are at a matcher; ``come``, of those that were not there at first; ``gone``, of those that no longer are.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tidings.arrays import IntArray
from tidings.partitioning.load import FloatArray


class There(NamedTuple):
    """The symbols of this module, of posts or of subscriptions."""

    starts: IntArray
    rows: IntArray
    weights: FloatArray
    counts: npt.NDArray[np.int32]
    before: npt.NDArray[np.bool_]
    sums: FloatArray
    come: FloatArray
    gone: FloatArray


class Loading(NamedTuple):
    """What makes load of posts and subscriptions: ``rates`` (float64[matchers]) of a pair, ``post`` of a post,
    ``come`` and ``gone`` of a subscription that moves. ``sums`` (float64[3, matchers]) and ``each`` (float64[3,
    parcels]) are those of :class:`tidings.balancing.estimate.Estimate`, and so is ``filed_for_one``."""

    rates: FloatArray
    post: float
    come: float
    gone: float
    filed_for_one: float
    sums: FloatArray
    each: FloatArray


class Search(NamedTuple):
    """``tries`` times something is tried. The norm is that of ``power``, and ``of_sum`` of the mean load counts beside
    it. With the probability ``far`` a parcel is tried at any matcher; else at one that has a post or a subscription of
    it already."""

    tries: int
    seed: int
    power: float
    of_sum: float
    far: float


@numba.njit(cache=True, nogil=True)
def _go(parcel, heavy, light, there):
    """Let a parcel go."""
    for k in range(there.starts[parcel], there.starts[parcel + 1]):
        row = there.rows[k]
        weight = there.weights[row]
        there.counts[heavy, row] -= 1
        if there.counts[heavy, row] == 0:
            there.sums[heavy] -= weight
            if there.before[heavy, row]:
                there.gone[heavy] += weight
            else:
                there.come[heavy] -= weight
        if there.counts[light, row] == 0:
            there.sums[light] += weight
            if there.before[light, row]:
                there.gone[light] -= weight
            else:
                there.come[light] += weight
        there.counts[light, row] += 1


@numba.njit(cache=True, nogil=True)
def give(parcels, heavy, light, there, heavy_sums, light_sums):
    """Let parcels go from ``heavy`` to ``light``, one after another; what is ``there`` is changed.

    ``heavy_sums`` and ``light_sums`` float64[parcels] get the sums of both after each of them.
    """
    for i in range(len(parcels)):
        _go(parcels[i], heavy, light, there)
        heavy_sums[i], light_sums[i] = there.sums[heavy], there.sums[light]


@numba.njit(cache=True, nogil=True)
def shares(parcels, heavy, light, there, less, more):
    """What is at ``heavy``, divided evenly between those of its parcels for which it is there.

    ``less`` float64[parcels] gets the share of each parcel, ``more`` that of what is not at ``light`` yet.
    """
    for i in range(len(parcels)):
        for k in range(there.starts[parcels[i]], there.starts[parcels[i] + 1]):
            row = there.rows[k]
            share = there.weights[row] / there.counts[heavy, row]
            less[i] += share
            more[i] += share * (there.counts[light, row] == 0)


@numba.njit(cache=True, nogil=True)
def _load(matcher, posts, standing, loading):
    """The load of a matcher, with what it does for subscriptions that move."""
    filed, changes, flat = loading.sums[0, matcher], loading.sums[1, matcher], loading.sums[2, matcher]
    found = loading.rates[matcher] * posts.sums[matcher] * standing.sums[matcher] + loading.post * posts.sums[matcher]
    found += loading.filed_for_one * standing.sums[matcher] / max(filed, 1.0) * changes + flat
    return found + loading.come * standing.come[matcher] + loading.gone * standing.gone[matcher]


@numba.njit(cache=True, nogil=True)
def _all_go(parcels, heavy, light, posts, standing, loading):
    """Let parcels go; the loads of both then."""
    for parcel in parcels:
        _go(parcel, heavy, light, posts)
        _go(parcel, heavy, light, standing)
        for k in range(3):
            loading.sums[k, heavy] -= loading.each[k, parcel]
            loading.sums[k, light] += loading.each[k, parcel]
    return _load(heavy, posts, standing, loading), _load(light, posts, standing, loading)


@numba.njit(cache=True, nogil=True)
def _one_beside(parcel, heavy, there, takes):
    """By chance one of the other matchers that have one of the rows of a parcel, which is drawn; -1 if none has."""
    found, count = -1, 0
    if there.starts[parcel] < there.starts[parcel + 1]:
        row = there.rows[np.random.randint(there.starts[parcel], there.starts[parcel + 1])]
        for matcher in range(len(takes)):
            if matcher != heavy and takes[matcher] and there.counts[matcher, row] > 0:
                count += 1
                if np.random.randint(count) == 0:
                    found = matcher
    return found


@numba.njit(cache=True, nogil=True)
def _raised(loads, power, scale, terms):
    """What the largest load is, and each load by that to some power; in ``terms``. The sum of these."""
    scale[0] = max(loads.max(), 1e-300)
    terms[:] = (loads / scale[0]) ** power
    return terms.sum()


@numba.njit(cache=True, nogil=True)
def exchange(owner, places, region_at, ends, takes, posts, standing, loading, search):
    """Local search: now and then a parcel, or what its owner has of its region, goes to another matcher by chance, and
    stays there if the loads are better then.

    ``places`` are the parcels, sorted by region; place i is of region ``region_at[i]``, which ends before place
    ``ends[region_at[i]]``. Only matchers that take (bool[matchers]) give and get. ``owner`` is changed, and so are
    ``posts``, ``standing`` and the sums of ``loading``. Loads are better if the norm of ``search`` is less, with a part
    of their sum; both are told by the mean load.
    """
    np.random.seed(search.seed)
    matchers = len(takes)
    loads = np.array([_load(matcher, posts, standing, loading) for matcher in range(matchers)])
    scale, terms = np.empty(1), np.empty(matchers)
    total = _raised(loads, search.power, scale, terms)
    each = search.of_sum / matchers
    for _ in range(search.tries):
        place = np.random.randint(len(places))
        parcel = places[place]
        heavy = owner[parcel]
        if np.random.random() < search.far:
            light = np.random.randint(matchers)
        else:
            light = _one_beside(parcel, heavy, posts if np.random.random() < 0.5 else standing, takes)
        if light < 0 or light == heavy or not takes[light] or not takes[heavy]:
            continue
        region = region_at[place]
        own = places[(ends[region - 1] if region else 0) : ends[region]]
        own = own[owner[own] == heavy]
        if np.random.random() * len(own) >= 1:  # as much work as with one parcel
            own = np.array([parcel])
        first, second = _all_go(own, heavy, light, posts, standing, loading)
        after = total - terms[heavy] - terms[light]
        after += (first / scale[0]) ** search.power + (second / scale[0]) ** search.power
        norm = ((after / matchers) ** (1 / search.power) - (total / matchers) ** (1 / search.power)) * scale[0]
        if norm + each * (first + second - loads[heavy] - loads[light]) < 0:
            loads[heavy], loads[light] = first, second
            owner[own] = light
            total = _raised(loads, search.power, scale, terms)
        else:
            _all_go(own, light, heavy, posts, standing, loading)
