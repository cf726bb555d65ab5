"""Which words does a made-up language have? Three syllables that can be read aloud, no two words alike."""

from __future__ import annotations

import numpy as np

from tidings.model import DataError

ONSETS = "bdfghjklmnprstvz"
VOWELS = "aeiou"
LAST_VOWELS = "aou"
CODAS = ("", "k", "m", "n")

_SHAPE = (len(ONSETS), len(VOWELS), len(ONSETS), len(VOWELS), len(ONSETS), len(LAST_VOWELS), len(CODAS))
MAX_WORDS = int(np.prod(_SHAPE))
"""How many different words there are: 1,228,800."""


def made_up_words(count: int, rng: np.random.Generator) -> list[str]:
    """``count`` different words in random order, 6 or 7 plain letters each.

    They end so that Porter's algorithm leaves them as they are: two different words have two different stems.

    >>> made_up_words(3, np.random.default_rng(7))
    ['zanikak', 'pabanu', 'purosa']
    """
    if not 0 <= count <= MAX_WORDS:
        raise DataError(f"between 0 and {MAX_WORDS:,} words can be made up, got {count:,}")
    numbers = rng.choice(MAX_WORDS, size=count, replace=False)
    letters = np.stack(np.unravel_index(numbers, _SHAPE), axis=1).tolist()
    return [
        ONSETS[a] + VOWELS[b] + ONSETS[c] + VOWELS[d] + ONSETS[e] + LAST_VOWELS[f] + CODAS[g]
        for a, b, c, d, e, f, g in letters
    ]
