"""What is kept, and what is asked of a store? Stored entries, and the operations of [LSM] 3.

Symbols: ``id`` of a subscription is Sid, ``id`` of a publication Pid, ``subscriber`` Uid, ``body`` Desc, ``at`` T_S
or T_P,
``t_min`` and ``t_max`` as there. All instants are whole microseconds since 1970 (UTC). Ends are excluded.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple, final

from tidings.model import DataError
from tidings.storage.keys import EARLIEST, LATEST, PUBLICATIONS, SUBSCRIPTIONS, pack_tail

_PUBLICATION = Struct(">qI")
_SUBSCRIPTION = Struct(">qqI")
_pack_publication, _pack_subscription = _PUBLICATION.pack, _SUBSCRIPTION.pack

made = tuple.__new__
"""Makes a named tuple in half the time of its constructor. Where an operation goes, each call counts: it is done in
some microseconds."""


@final
class StoredPublication(NamedTuple):
    """A publication that somebody may still ask for. ``number`` is its place in the order of all operations."""

    id: str
    at: int
    t_max: int
    number: int
    body: bytes


class StoredSubscription(NamedTuple):
    """A subscription to publications of ``[t_min, t_max)``."""

    id: str
    subscriber: str
    at: int
    t_min: int
    t_max: int
    number: int


Entry = StoredPublication | StoredSubscription


@final
class Publishing(NamedTuple):
    """PUBLISH of [LSM] Table 1. With ``self_join`` it also finds the valid publications since ``t_min``. A store
    checks it (:func:`check`) before it writes anything."""

    label: bytes
    id: str
    t_max: int = LATEST
    body: bytes = b""
    t_min: int = EARLIEST
    self_join: bool = False


class Subscribing(NamedTuple):
    """SUBSCRIBE of [LSM] Table 1. With ``self_join`` it also finds the valid subscriptions. A store checks it."""

    label: bytes
    id: str
    t_min: int
    t_max: int = LATEST
    subscriber: str = ""
    self_join: bool = False


Operation = Publishing | Subscribing


class Sought(NamedTuple):
    """What is looked for: entries that are valid ``now``; publications of ``[t_min, t_max)``, subscriptions, or
    both."""

    now: int
    t_min: int
    t_max: int
    publications: bool
    subscriptions: bool


class Found(NamedTuple):
    """What an operation found: publications and subscriptions, the newest first."""

    publications: list[StoredPublication]
    subscriptions: list[StoredSubscription]

    def new_to(self, subscriber: str) -> list[StoredPublication]:
        """The publications that no other of the found subscriptions has given to a subscriber: for a subscription that
        joins itself ([LSM] 6.1, a user who comes back to a cell)."""
        own = [found for found in self.subscriptions if found.subscriber == subscriber]
        return [post for post in self.publications if not any(s.t_min <= post.at < s.t_max for s in own)]


def packed(entry: Entry) -> tuple[bytes, bytes]:
    """The end of the key of an entry, which is its place, and its value: what is kept beside that."""
    name = entry[0].encode()
    if type(entry) is StoredPublication:
        _, at, t_max, number, body = entry
        value = _pack_publication(t_max, len(name)) + name + body
        return pack_tail(PUBLICATIONS, LATEST - at, LATEST - number), value
    _, subscriber, at, t_min, t_max, number = entry
    value = _pack_subscription(t_min, t_max, len(name)) + name + subscriber.encode()
    return pack_tail(SUBSCRIPTIONS, LATEST - at, LATEST - number), value


def publication_of(value: bytes, at: int, number: int) -> StoredPublication:
    t_max, length = _PUBLICATION.unpack_from(value)
    return StoredPublication(value[12 : 12 + length].decode(), at, t_max, number, value[12 + length :])


def subscription_of(value: bytes, at: int, number: int) -> StoredSubscription:
    t_min, t_max, length = _SUBSCRIPTION.unpack_from(value)
    name, subscriber = value[20 : 20 + length].decode(), value[20 + length :].decode()
    return StoredSubscription(name, subscriber, at, t_min, t_max, number)


def check(operation: Operation) -> None:
    """Refuse what cannot be kept."""
    if type(operation) is Publishing:
        label, name, t_max, _, t_min, _ = operation
    else:
        label, name, t_min, t_max, _, _ = operation
    if not (label and name and EARLIEST <= t_min < t_max <= LATEST and isinstance(label, bytes)):
        _refuse(operation)


def _refuse(operation: Operation) -> None:
    if not (isinstance(operation.label, bytes) and operation.label):
        raise DataError(f"a label is some bytes, as tidings.terms.labels makes them, got {operation.label!r}")
    if not operation.id:
        raise DataError(f"an entry needs an id that is not empty, under the label {operation.label!r}")
    name, t_min, t_max = operation.id, operation.t_min, operation.t_max
    raise DataError(f"{name!r} ends at {t_max}, not after it begins at {t_min}, or these are no instants")
