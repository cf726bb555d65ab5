"""Is an index compacted when it has many segments, or much that compacting would save, and not before?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.index import COMPACTION, Compaction
from tidings.model import DataError

_sizes = st.integers(0, 10**7)
_burdens = st.floats(0, 1)


@given(segments=st.integers(0, 20), size=_sizes, burden=_burdens)
def test_more_of_anything_never_makes_compacting_less_due(segments: int, size: int, burden: float) -> None:
    if COMPACTION.is_due(segments, size, burden):
        assert COMPACTION.is_due(segments + 1, size, burden)
        assert COMPACTION.is_due(segments, size + 1, burden)
        assert COMPACTION.is_due(segments, size, min(1.0, burden + 0.1))


@pytest.mark.parametrize(
    ("segments", "size", "burden", "is_due"),
    [
        (8, 1 << 16, 1.0, False),
        (9, 0, 0.0, True),
        (8, (1 << 16) + 1, 0.3, False),
        (8, (1 << 16) + 1, 0.301, True),
        (1, 10, 0.9, False),
    ],
)
def test_the_default_limits(segments: int, size: int, burden: float, is_due: bool) -> None:
    assert COMPACTION.is_due(segments, size, burden) == is_due


@pytest.mark.parametrize("limits", [{"max_segments": -1}, {"max_burden": "0.3"}, {"small": True}])
def test_limits_that_are_none_are_refused(limits: dict[str, object]) -> None:
    with pytest.raises(DataError, match="is a number of 0 or more, got"):
        Compaction(**limits)  # type: ignore[arg-type]
