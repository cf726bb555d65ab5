"""The values that everything else is about, and the errors. Plain, frozen, without dependencies."""

from tidings.model.errors import (
    DataError,
    HistoryError,
    PublicationError,
    QueryError,
    SubscriptionError,
    TidingsError,
)
from tidings.model.publication import Publication
from tidings.model.query import (
    And,
    Atom,
    Contains,
    EndsWith,
    Equals,
    Not,
    Or,
    Phrase,
    Prefix,
    Present,
    Query,
    Range,
    Regex,
    StartsWith,
    Topic,
    Wildcard,
    Within,
    Word,
)
from tidings.model.region import Circle, Rectangle, Region
from tidings.model.subscription import Match, Rejected, Subscription
from tidings.model.values import Value

__all__ = [
    "And",
    "Atom",
    "Circle",
    "Contains",
    "DataError",
    "EndsWith",
    "Equals",
    "HistoryError",
    "Match",
    "Not",
    "Or",
    "Phrase",
    "Prefix",
    "Present",
    "Publication",
    "PublicationError",
    "Query",
    "QueryError",
    "Range",
    "Rectangle",
    "Regex",
    "Region",
    "Rejected",
    "StartsWith",
    "Subscription",
    "SubscriptionError",
    "TidingsError",
    "Topic",
    "Value",
    "Wildcard",
    "Within",
    "Word",
]
