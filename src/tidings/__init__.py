"""tidings: content-based publish/subscribe. People leave standing queries, posts flow by, each match reaches who asked.

>>> import tidings
>>> query = tidings.parse("(fire OR smoke) -drill")
>>> print(tidings.explain(query, tidings.Publication("p1", "Smoke over the harbour")))
matched: smoke: "smoke"; no drill
"""

from tidings.engine import Engine
from tidings.language import Explanation, covers, evaluate, explain, parse, to_text
from tidings.model import (
    Match,
    Publication,
    PublicationError,
    Query,
    QueryError,
    Rejected,
    Subscription,
    SubscriptionError,
    TidingsError,
)
from tidings.terms import Analyser

__all__ = [
    "Analyser",
    "Engine",
    "Explanation",
    "Match",
    "Publication",
    "PublicationError",
    "Query",
    "QueryError",
    "Rejected",
    "Subscription",
    "SubscriptionError",
    "TidingsError",
    "covers",
    "evaluate",
    "explain",
    "parse",
    "to_text",
]
