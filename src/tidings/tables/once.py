"""Who gets a publication once, however many subscriptions of theirs it answers? Each subscriber ([LSM] 6.1)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.tables.checked import TEXT
from tidings.tables.matches import Matches


def once_each(found: Matches) -> Matches:
    """Of the matches of a publication and a subscriber, the first that was found. Who has no name counts as many."""
    if len(found) < 2:
        return found
    texts = pa.chunked_array([part.text("subscriber") for part in found.parts], TEXT)
    names = pc.dictionary_encode(texts).combine_chunks()
    codes = names.indices.to_numpy().astype(np.int64)
    has_name = pc.not_equal(texts, "").to_numpy()
    pairs = found.rows() * (len(names.dictionary) + 1) + codes
    keys = np.where(has_name, pairs, -1 - np.arange(len(pairs)))
    is_first = np.zeros(len(keys), dtype=np.bool_)
    is_first[np.unique(keys, return_index=True)[1]] = True
    chosen = np.split(is_first, np.cumsum([len(part) for part in found.parts])[:-1])
    parts = [part.taken(np.flatnonzero(own)) for part, own in zip(found.parts, chosen, strict=True)]
    return Matches(parts, found.counters)
