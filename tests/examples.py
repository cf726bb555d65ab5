"""How much of a test is in `make test`? A tenth of a property's examples, and those of its parameters that are quick.

`make check` has all of them: it sets TIDINGS_EXAMPLES to "all", and runs what is thorough.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

_SHARE = 1 if os.environ.get("TIDINGS_EXAMPLES") == "all" else 10
_FEWEST = 3


def examples(count: int) -> settings:
    """Settings for so many examples, and without a deadline: how fast something is, is for benchmarks."""
    return settings(max_examples=max(_FEWEST, count // _SHARE), deadline=None)


def thorough_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Parameters that are thorough, but for those that stand for the others in `make test`."""
    own = list(values)
    assert all(value in own for value in quick)
    return [value if value in quick else pytest.param(value, marks=pytest.mark.thorough) for value in own]
