"""Which matcher takes a conjunction? The loops, compiled.

Symbols: conjunction c has the words ``ids[offsets[c] : offsets[c + 1]]`` (int64 and int32), rarest first; term t is
owned by ``owners[starts[t] : starts[t + 1]]`` (int64 and int32); ``held[w, m]`` int32 of the subscriptions at matcher m
have the word w.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def choose_eligible(offsets, ids, starts, owners, last, kept):
    """Set ``kept`` bool[words] for the first word of each matcher; split words count only where there is no other.

    ``last`` int64[matchers] is scratch, all -1 before. Of split words alone the first is kept.
    """
    for c in range(len(offsets) - 1):
        found = False
        for k in range(offsets[c], offsets[c + 1]):
            at = starts[ids[k]]
            if starts[ids[k] + 1] - at == 1:
                found = True
                if last[owners[at]] != c:
                    last[owners[at]] = c
                    kept[k] = True
        if not found and offsets[c + 1] > offsets[c]:
            kept[offsets[c]] = True


@numba.njit(cache=True, nogil=True)
def draw(offsets, matchers, keys, salt, picks):
    """Draw a place of ``matchers`` int32 for each conjunction that has any: ``picks`` int64[conjunctions].

    ``keys`` uint64[conjunctions] and ``salt`` uint64 decide; the order of the matchers does not.
    """
    for c in range(len(offsets) - 1):
        lowest = np.uint64(1) << np.uint64(40)
        for k in range(offsets[c], offsets[c + 1]):
            score = _score(keys[c], salt + np.uint64(matchers[k]))
            if score < lowest:
                lowest = score
                picks[c] = k


@numba.njit(cache=True, nogil=True)
def _score(key, salt):
    """A number of 32 bits by two of 64, the same for ever: subscriptions that were placed apart stay where they are."""
    h = key ^ (salt << np.uint64(1))
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h >> np.uint64(32)


@numba.njit(cache=True, nogil=True)
def place_by_load(starts, able, asked, held, sizes, line, picks):
    """[S3TM] Alg. 2 for many queries, one after another: fills ``picks`` int64[conjunctions] where there is a choice.

    Query q has the conjunctions starts[q] … starts[q + 1] - 1 and, of ``asked`` = (offsets, words), the different words
    ``words[offsets[q] : …]``. Of ``able`` = (offsets, matchers, counts), a conjunction c with ``counts[c]`` > 1 goes to
    one of ``matchers[offsets[c] : …]``, any other to all of them, before its neighbours choose. ``held`` is H.
    ``sizes`` int64[matchers]: |H|. Both follow. ``line`` = (slope, intercept) of f.
    """
    offsets, matchers, counts = able
    word_offsets, words = asked
    home = np.full(len(sizes), -1, dtype=np.int64)
    moments = np.zeros(2, dtype=np.int64)
    for m in range(len(sizes)):
        moments[0] += sizes[m]
        moments[1] += sizes[m] * sizes[m]
    for q in range(len(starts) - 1):
        own = words[word_offsets[q] : word_offsets[q + 1]]
        for c in range(starts[q], starts[q + 1]):
            if counts[c] <= 1:
                for k in range(offsets[c], offsets[c + 1]):
                    if home[matchers[k]] != q:
                        home[matchers[k]] = q
                        _settle(own, matchers[k], held, sizes, moments)
        for c in range(starts[q], starts[q + 1]):
            if counts[c] > 1:
                possible = matchers[offsets[c] : offsets[c + 1]]
                picks[c] = _first(home, possible, q)
                if picks[c] < 0:
                    picks[c] = _best(own, possible, held, sizes, moments, line)
                    home[possible[picks[c]]] = q
                    _settle(own, possible[picks[c]], held, sizes, moments)


@numba.njit(cache=True, nogil=True)
def _first(home, able, q):
    """The first place in ``able`` of a matcher at which query q lives already, or -1."""
    for k in range(len(able)):
        if home[able[k]] == q:
            return k
    return -1


@numba.njit(cache=True, nogil=True)
def _best(own, able, held, sizes, moments, line):
    """The place in ``able`` with the highest utility; of equal ones least growth, then load, then number."""
    n = len(sizes)
    slope, intercept = line
    best, lowest = 0, (np.inf, sizes[0], sizes[0], able[0])
    for k in range(len(able)):
        size, growth = sizes[able[k]], _growth(own, able[k], held)
        total = moments[0] + growth
        squares = moments[1] + growth * (2 * size + growth)
        # sd/mean of f = intercept + slope · |H| by whole numbers: n² var = slope² (n Σ|H|² - (Σ|H|)²)
        mean = intercept * n + slope * total
        imbalance = slope * np.sqrt(np.float64(n * squares - total * total)) / mean if mean > 0 else 0.0
        loss = (intercept + slope * growth) * imbalance
        rank = (loss, growth, size, able[k])
        if rank < lowest:
            best, lowest = k, rank
    return best


@numba.njit(cache=True, nogil=True)
def _growth(own, m, held):
    """How many words are new to a matcher: |S without H(m)|."""
    count = np.int64(0)
    for j in range(len(own)):
        if held[own[j], m] == 0:
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _settle(own, m, held, sizes, moments):
    """Let a matcher have these words."""
    growth = _growth(own, m, held)
    for j in range(len(own)):
        held[own[j], m] += 1
    moments[0] += growth
    moments[1] += growth * (2 * sizes[m] + growth)
    sizes[m] += growth


@numba.njit(cache=True, nogil=True)
def count(words, m, by, held, sizes):
    """Let ``by``, 1 or -1, more subscriptions at matcher m have a word, for each of ``words`` int32."""
    for w in words:
        before = held[w, m]
        held[w, m] += by
        sizes[m] += (held[w, m] > 0) - (before > 0)
