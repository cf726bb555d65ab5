"""The inner loops of reading a publication."""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False

import numba


@numba.njit(cache=True)
def name_terms(words, term_of):
    """Let ``words`` int32 be their terms."""
    for k in range(len(words)):
        words[k] = term_of[words[k]]
