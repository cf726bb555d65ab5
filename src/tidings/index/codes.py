"""Which terms and predicates do the codes of a stream (:mod:`tidings.index.kernels`) name, and under new numbers?"""

from __future__ import annotations

import numpy as np

from tidings.arrays import IdArray


def terms_of(codes: IdArray) -> IdArray:
    """The terms that codes ask for or forbid, in no order."""
    others = -codes[codes < 0] - 1
    return np.concatenate([codes[codes >= 0], others[others & 1 == 0] >> 1])


def predicates_of(codes: IdArray) -> IdArray:
    """The predicates that codes ask for, in their order."""
    others = -codes[codes < 0] - 1
    found: IdArray = others[others & 1 == 1] >> 2
    return found


def renumbered_codes(codes: IdArray, terms: IdArray, predicates: IdArray) -> IdArray:
    """The same with new numbers: ``terms[t]`` for term t, ``predicates[p]`` for predicate p."""
    new = codes.copy()
    others = -codes - 1
    is_term, is_forbidden = codes >= 0, (codes < 0) & (others & 1 == 0)
    is_asked = (codes < 0) & ~is_forbidden
    new[is_term] = terms[codes[is_term]]
    new[is_forbidden] = -(2 * terms[others[is_forbidden] >> 1]) - 1
    asked = others[is_asked]
    new[is_asked] = -(predicates[asked >> 2] * 4 | asked & 3) - 1
    return new
