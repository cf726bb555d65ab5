"""Is this how an engine can be set? What is not is refused with a word on what can."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tidings.analysis import Analyser
from tidings.index import Compaction
from tidings.model import DataError

SUBSCRIBER = "subscriber"


def check_settings(path: object, analyser: object, expire_after: object, compaction: object, distinct: object) -> None:
    """Refuse with DataError what cannot be."""
    if path is not None and not isinstance(path, str | Path):
        raise DataError(f"an engine's folder is named by a text or a Path, got {path!r}")
    if not isinstance(analyser, Analyser):
        raise DataError(f"analyser is a tidings.Analyser, got {analyser!r}; write Analyser('english')")
    if expire_after is not None and not isinstance(expire_after, timedelta):
        raise DataError(f"expire_after is a timedelta or None, got {expire_after!r}")
    if not isinstance(compaction, Compaction):
        raise DataError(f"compaction is a tidings.index.Compaction, got {compaction!r}")
    if distinct not in (None, SUBSCRIBER):
        raise DataError(f"distinct is {SUBSCRIBER!r} or None, got {distinct!r}")


def check_keeping(keep: object, keep_bytes: object) -> None:
    """Refuse with DataError what cannot be kept."""
    if not isinstance(keep, timedelta) or keep <= timedelta(0):
        raise DataError(f"keep is a timedelta longer than nothing, or None to keep nothing, got {keep!r}")
    if keep_bytes is not None and not (isinstance(keep_bytes, int) and keep_bytes > 0):
        raise DataError(f"keep_bytes is how many bytes may be kept, a whole number, got {keep_bytes!r}")
