"""tidings: content-based publish/subscribe. People leave standing queries, posts flow by, each match reaches who asked.

>>> import tidings
>>> query = tidings.parse("(fire OR smoke) -drill")
>>> print(tidings.explain(query, tidings.Publication("p1", "Smoke over the harbour")))
matched: smoke: "smoke"; no drill
"""

from typing import TYPE_CHECKING, Any

from tidings.analysis import Analyser
from tidings.language import Explanation, covers, evaluate, explain, parse, polygon, to_text
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

if TYPE_CHECKING:
    from tidings.engine import Engine

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
    "polygon",
    "to_text",
]


def __getattr__(name: str) -> Any:
    """The engine, with all that it needs, is loaded when it is first asked for."""
    if name == "Engine":
        from tidings.engine import Engine  # noqa: PLC0415

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
