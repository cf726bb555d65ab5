"""What does a table of generated subscriptions look like, and how are the texts of its queries put together?"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.model import DataError
from tidings.workloads.draws import IntArray

SCHEMA = pa.schema([("id", pa.string()), ("query", pa.string()), ("subscriber", pa.string())])

SUBSCRIPTIONS_EACH = 10
"""How many subscriptions a generated subscriber has, on average."""


def subscription_table(queries: pa.Array, rng: np.random.Generator) -> pa.Table:
    """The subscriptions s0, s1, … with these queries, each of a random subscriber.

    >>> subscription_table(pa.array(["fire", "smoke"]), np.random.default_rng(0)).to_pylist()[1]
    {'id': 's1', 'query': 'smoke', 'subscriber': 'user0'}
    """
    subscribers = rng.integers(max(1, len(queries) // SUBSCRIPTIONS_EACH), size=len(queries))
    return pa.Table.from_arrays(
        [numbered("s", np.arange(len(queries))), queries, numbered("user", subscribers)], schema=SCHEMA
    )


def numbered(prefix: str, numbers: IntArray) -> pa.Array:
    """A name for each number.

    >>> numbered("s", np.array([7, 12])).to_pylist()
    ['s7', 's12']
    """
    return pc.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")


def joined(forms: pa.Array, chosen: IntArray, separators: str | pa.Array = " ") -> pa.Array:
    """The text of each row of ``chosen`` (rows x words, filled with -1): its forms, with a separator between.

    >>> joined(pa.array(["fire", "smoke"]), np.array([[1, 0], [1, -1]]), " OR ").to_pylist()
    ['smoke OR fire', 'smoke']
    """
    used = chosen >= 0
    ends = np.cumsum(used.sum(axis=1))
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int64))
    words = forms.take(pa.array(chosen[used]))
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, words), separators).cast(pa.string())


def check_count(count: int) -> None:
    if count < 0:
        raise DataError(f"the number of subscriptions is not below 0, got {count}")
