"""Events as services send them: nested, with lists that matter; and what a plain evaluation says that they match."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidings.language import evaluate, parse
from tidings.model import Publication
from tidings.model.publication import FIELDS

EVENTS: list[dict[str, Any]] = [
    {
        "id": "order-1",
        "text": "New order",
        "user": {"name": "ada", "address": {"city": "Sydney", "zip": "02000"}},
        "items": [{"sku": "A1", "price": 5.0, "tags": ["sale", "toys"]}, {"sku": "B2", "price": 120.0, "tags": []}],
        "codes": [3, 700],
        "flags": [True],
        "first name": "Ada",
    },
    {
        "id": "order-2",
        "text": "New order, fire sale",
        "user": {"name": "bob", "address": {"city": "Perth", "zip": "6000"}},
        "items": [{"sku": "A1", "price": 40.0, "tags": ["toys"]}],
        "codes": [50],
        "flags": [],
        "first name": "Bob",
    },
    {
        "id": "order-3",
        "text": "Cancelled order",
        "user": {"name": "ada", "address": None},
        "items": [],
        "codes": [700, 3, 50],
        "flags": [False, True],
        "first name": None,
    },
    {
        "id": "alert-1",
        "text": "Fire",
        "user": None,
        "items": [{"sku": None, "price": 41.0, "tags": ["sale", "fire"]}, {"sku": "A1", "price": 1.0, "tags": None}],
        "codes": None,
        "flags": None,
        "first name": "Fire",
    },
]

SCHEMA = (
    "id string, text string, user struct<name string, address struct<city string, zip string>>, "
    "items array<struct<sku string, price double, tags array<string>>>, codes array<int>, flags array<boolean>, "
    "`first name` string"
)
"""The same for Spark."""

QUERIES = (
    "fire", "user.name:ada", "user.name:a*", "user.address.city:(Sydney OR Perth)", "user.address.zip:2000",
    "user.address.zip:02000", "has:user.address.city", "order -user.name:ada", "has:user", "items.price:>100",
    "items.price:[40 TO 41]", "items.price:{41 TO 120}", "items.price:<10 items.price:>100", "items.tags:*oy*",
    "items.tags:sale", "items.tags:sale items.tags:fire", "items.sku:A1 -items.sku:B2", "codes:3",
    "codes:>100 codes:<10", "codes:[10 TO 60]", "order -codes:>100", "flags:true", "flags:false flags:true",
    "has:items.price", "order -has:items.price", "fire OR codes:[1 TO 5] OR codes:[600 TO 800]",
)  # fmt: skip
ASKED = pa.table({"id": list(QUERIES), "query": list(QUERIES)})


def expected() -> list[tuple[str, str]]:
    """Event and query, by the reference on each event alone."""
    found = []
    for event in EVENTS:
        attributes = {name: value for name, value in event.items() if name not in FIELDS}
        post = Publication(event["id"], event["text"], attributes=attributes)
        found += [(post.id, query) for query in QUERIES if evaluate(parse(query), post)]
    return sorted(found)
