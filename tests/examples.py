"""How many examples does a property get? A tenth of them in `make test`, all where TIDINGS_EXAMPLES is "all"."""

from __future__ import annotations

import os

from hypothesis import settings

_SHARE = 1 if os.environ.get("TIDINGS_EXAMPLES") == "all" else 10
_FEWEST = 3


def examples(count: int) -> settings:
    """Settings for so many examples, and without a deadline: how fast something is, is for benchmarks."""
    return settings(max_examples=max(_FEWEST, count // _SHARE), deadline=None)
