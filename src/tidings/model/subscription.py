"""Who asks, and for how long? A subscription; what answers it, a match; what cannot be used, a rejection."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tidings.model.errors import SubscriptionError
from tidings.model.query import Query
from tidings.model.values import half_pair, instant_text, utc


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing query of somebody, valid in ``[since, until)``.

    ``version`` counts the replacements of one id: 1 at first, one more with each new query.
    """

    id: str
    query: Query
    subscriber: str = ""
    tag: str = ""
    since: datetime | None = None
    until: datetime | None = None
    version: int = 1

    def __post_init__(self) -> None:
        for name in ("id", "subscriber", "tag"):
            self._check_text(name, getattr(self, name))
        if not self.id:
            raise SubscriptionError("a subscription needs an id that is not empty")
        if not isinstance(self.query, Query):
            raise self._error(f"its query is a {type(self.query).__name__}; make it with tidings.parse")
        if not isinstance(self.version, int) or self.version < 1:
            raise self._error(f"its version counts from 1, got {self.version!r}")
        for name in ("since", "until"):
            object.__setattr__(self, name, self._checked_instant(name, getattr(self, name)))
        if self.since is not None and self.until is not None and self.since >= self.until:
            begins, ends = instant_text(self.since), instant_text(self.until)
            raise self._error(f"it ends at {ends}, not after it begins at {begins}")

    def valid_at(self, instant: datetime) -> bool:
        at = utc(instant)
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)

    def _check_text(self, name: str, text: object) -> None:
        if not isinstance(text, str) or half_pair(text) is not None:
            raise self._error(f"its {name} is text that can be written as UTF-8, got {text!r}")

    def _checked_instant(self, name: str, instant: object) -> datetime | None:
        if instant is None:
            return None
        if not isinstance(instant, datetime):
            raise self._error(f"its {name} is a {type(instant).__name__}, not a datetime")
        try:
            return utc(instant)
        except ValueError as error:
            raise self._error(f"its {name} is no instant: {error}") from None

    def _error(self, problem: str) -> SubscriptionError:
        return SubscriptionError(f"subscription {self.id!r}: {problem}")


@dataclass(frozen=True, slots=True)
class Match:
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
