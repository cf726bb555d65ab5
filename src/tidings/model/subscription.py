"""Who asks, and for how long? A subscription; what answers it, a match; what cannot be used, a rejection."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from tidings.model.errors import SubscriptionError
from tidings.model.query import Query
from tidings.model.values import half_pair, instant_text, utc


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing query of somebody, valid in ``[since, until)``.

    ``version`` is that of the registry with which the query came, so it grows whenever an id gets a new one.
    """

    id: str
    query: Query
    subscriber: str = ""
    tag: str = ""
    since: datetime | None = None
    until: datetime | None = None
    version: int = 1

    def __post_init__(self) -> None:
        since, until = checked_terms(self.id, self.subscriber, self.tag, self.since, self.until)
        object.__setattr__(self, "since", since)
        object.__setattr__(self, "until", until)
        if not isinstance(self.query, Query):
            raise _error(self.id, f"its query is a {type(self.query).__name__}; make it with tidings.parse")
        if not isinstance(self.version, int) or self.version < 1:
            raise _error(self.id, f"its version counts from 1, got {self.version!r}")

    def valid_at(self, instant: datetime) -> bool:
        at = utc(instant)
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


def checked_terms(
    name: str, subscriber: str, tag: str, since: datetime | None, until: datetime | None
) -> tuple[datetime | None, datetime | None]:
    """Check all of a subscription but its query; the instants come back in UTC."""
    for what, text in (("id", name), ("subscriber", subscriber), ("tag", tag)):
        if not isinstance(text, str) or not (text.isascii() or half_pair(text) is None):
            raise _error(name, f"its {what} is text that can be written as UTF-8, got {text!r}")
    if not name:
        raise SubscriptionError("a subscription needs an id that is not empty")
    since, until = _checked_instant(name, "since", since), _checked_instant(name, "until", until)
    if since is not None and until is not None and since >= until:
        raise _error(name, f"it ends at {instant_text(until)}, not after it begins at {instant_text(since)}")
    return since, until


def _checked_instant(name: str, what: str, instant: object) -> datetime | None:
    if instant is None:
        return None
    if not isinstance(instant, datetime):
        raise _error(name, f"its {what} is a {type(instant).__name__}, not a datetime")
    try:
        return utc(instant)
    except ValueError as error:
        raise _error(name, f"its {what} is no instant: {error}") from None


def _error(name: object, problem: str) -> SubscriptionError:
    return SubscriptionError(f"subscription {name!r}: {problem}")


class Match(NamedTuple):
    """A publication that answers a subscription. Its key is (publication, subscription, query version)."""

    publication_id: str
    subscription_id: str
    subscriber: str = ""
    tag: str = ""
    query_version: int = 1


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that could not be used, kept with the reason so that its owner can mend it."""

    kind: Literal["publication", "subscription"]
    id: str
    reason: str
    source: str = ""
