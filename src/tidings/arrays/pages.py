"""Is a page of JSON still what was written? It carries a checksum of the rest of it."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidings.arrays.files import JSON

_CRC = "crc"


def checked(page: Mapping[str, JSON]) -> dict[str, JSON]:
    """A page with its checksum.

    >>> checked({"version": 3})
    {'version': 3, 'crc': 805902412}
    """
    return {**page, _CRC: _crc(page)}


def read_page(path: Path) -> dict[str, Any]:
    """What a page holds, without its checksum; a ValueError if it is no JSON object, or not what was written.

    One without a checksum, from before there were any, is taken as it is.
    """
    try:
        found = json.loads(path.read_text())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"it is no JSON object but a {type(found).__name__}")
    crc = found.pop(_CRC, None)
    if crc is not None and crc != _crc(found):
        raise ValueError("its checksum is not that of its content")
    return found


def replace_json(path: Path, value: JSON) -> None:
    """Let a file hold this, on disk, at once or not at all."""
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _crc(page: Mapping[str, JSON]) -> int:
    read = json.loads(json.dumps(page))  # as it will be read: tuples are lists
    return zlib.crc32(json.dumps(read, sort_keys=True).encode())
