"""Under which key is an entry of a list kept? Label, kind, time, number: in the order in which lists are read.

A list of [LSM] 4 is a run of keys here, one for each entry, so nothing has to be read before a write and RocksDB
needs no merge operator. ``label | 0 | kind | inverted time | inverted number``: both lists of a label lie side by
side ([LSM] 5.3), subscriptions first, and the newest entry of each is met first ([LSM] 5.2.1).

A store has labels of one sort: those of topics (:func:`tidings.terms.labels.path_label`), whose steps never begin
with the byte 0 that ends a label here, or cells of eight bytes.
"""

from __future__ import annotations

from struct import Struct

SUBSCRIPTIONS, PUBLICATIONS = b"\0\0", b"\0\1"
"""The kinds of lists: the bit that [LSM] 5.3 puts into a key."""

AFTER = {SUBSCRIPTIONS: b"\0\1", PUBLICATIONS: b"\0\2"}
"""Where the list of a kind ends."""

LATEST = 2**63 - 1
"""After all instants: the end of what does not end."""

EARLIEST = -(2**63)
"""Before all instants."""

pack_tail = Struct(">2sQQ").pack
"""The end of a key: its kind, ``LATEST - at`` and ``LATEST - number``."""

_PLACE = Struct(">QQ")


def key_of(label: bytes, kind: bytes, at: int, number: int) -> bytes:
    """The key of an entry of the instant ``at``, in microseconds.

    >>> key_of(b"c1", PUBLICATIONS, 5, 2) < key_of(b"c1", PUBLICATIONS, 5, 1) < key_of(b"c1", PUBLICATIONS, 4, 3)
    True
    """
    return label + pack_tail(kind, LATEST - at, LATEST - number)


def is_publication(key: bytes) -> bool:
    return key[-17] == 1


def place_of(key: bytes) -> tuple[int, int]:
    """The instant and the number in a key.

    >>> place_of(key_of(b"c1", SUBSCRIPTIONS, -5, 7))
    (-5, 7)
    """
    at, number = _PLACE.unpack_from(key, len(key) - 16)
    return LATEST - at, LATEST - number
