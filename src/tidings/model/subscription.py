"""Who asks, and for how long? A subscription; what answers it, a match; what cannot be used, a rejection."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tidings.model.errors import SubscriptionError
from tidings.model.query import Query
from tidings.model.values import instant_text, utc


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
        if not self.id:
            raise SubscriptionError("a subscription needs an id that is not empty")
        for name in ("since", "until"):
            if (instant := getattr(self, name)) is not None:
                object.__setattr__(self, name, utc(instant))
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise SubscriptionError(
                f"subscription {self.id!r}: it ends at {instant_text(self.until)}, not after it begins "
                f"at {instant_text(self.since)}"
            )

    def valid_at(self, instant: datetime) -> bool:
        at = utc(instant)
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


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
