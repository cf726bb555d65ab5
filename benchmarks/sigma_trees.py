"""Sigma's rules as neutral trees (sigma_rules.parquet) to queries."""

from __future__ import annotations

from typing import Any

from tidings.model import QueryError
from tidings.model.query import And, Equals, Not, Or, Present, Query
from tidings.sigma.conditions import net_condition, number_condition, regex_condition, text_condition


def tree_query(tree: list[Any]) -> Query:
    """The query of a tree; QueryError if it cannot be said."""
    kind, *rest = tree
    if kind in ("and", "or"):
        return (And if kind == "and" else Or)(tuple(map(tree_query, rest))) if len(rest) > 1 else tree_query(rest[0])
    if kind == "not":
        return Not(tree_query(rest[0]))
    name = rest[0]
    if name is None:
        raise QueryError("it looks for keywords anywhere in an event, without a field")
    match kind:
        case "str":
            return text_condition(name, rest[1], rest[2])
        case "num":
            return number_condition(name, rest[1])
        case "cmp":
            return number_condition(name, rest[2], rest[1])
        case "re":
            return regex_condition(name, rest[1], rest[2])
        case "cidr":
            return net_condition(name, rest[1])
        case "bool":
            return Equals(name, "true" if rest[1] else "false")
        case "null":
            return Not(Present(name))
        case "exists":
            return Present(name) if rest[1] else Not(Present(name))
        case _:
            raise QueryError(f"{kind} cannot be said")
