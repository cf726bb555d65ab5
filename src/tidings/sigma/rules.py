"""Which rules does a folder hold, and what does each ask for? One subscription a rule, or the reason why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from sigma import conditions, types
from sigma.exceptions import SigmaError
from sigma.rule import SigmaRule
from yaml import YAMLError

from tidings.language import parse, to_text
from tidings.model.errors import DataError, QueryError
from tidings.model.query import And, Equals, Not, Or, Present, Query
from tidings.model.subscription import Rejected
from tidings.sigma.conditions import (
    MANY,
    SINGLE,
    net_condition,
    number_condition,
    regex_condition,
    text_condition,
)

_ENDINGS = ("*.yml", "*.yaml")
_SIGNS = {types.SpecialChars.WILDCARD_MULTI: MANY, types.SpecialChars.WILDCARD_SINGLE: SINGLE}


@dataclass(frozen=True, slots=True)
class SigmaRules:
    """``table``: subscriptions with id, query and tag (level and title); ``rejected``: what cannot be said, and why."""

    table: pa.Table
    rejected: tuple[Rejected, ...]


def read_rules(folder: str | Path, *, sources: bool = False) -> SigmaRules:
    """All rules in the files of a folder and below it, in the order of their paths.

    A rule is meant for the events of one source. With ``sources`` it also asks for that: for the attributes
    ``logsource.category``, ``logsource.product`` and ``logsource.service``, of which it names some.
    """
    home = Path(folder)
    if not home.is_dir():
        raise DataError(f"there is no folder {str(home)!r} with rules of Sigma")
    rows: list[dict[str, str]] = []
    rejected: list[Rejected] = []
    for path in sorted(file for ending in _ENDINGS for file in home.rglob(ending)):
        name = str(path.relative_to(home))
        try:
            rule = SigmaRule.from_yaml(path.read_text(encoding="utf-8"))
            rows.append({"id": str(rule.id or name), "query": rule_query(rule, sources=sources), "tag": _tag(rule)})
        except (SigmaError, YAMLError, QueryError, OSError, ValueError) as error:
            rejected.append(Rejected("subscription", name, str(error)))
    schema = pa.schema([("id", pa.string()), ("query", pa.string()), ("tag", pa.string())])
    return SigmaRules(pa.Table.from_pylist(rows, schema), tuple(rejected))


def rule_query(rule: SigmaRule, *, sources: bool = False) -> str:
    """The query of a rule, as text; QueryError if it cannot be said."""
    found = [_query(condition.parsed) for condition in rule.detection.parsed_condition]
    query = found[0] if len(found) == 1 else Or(tuple(found))
    source = _source(rule) if sources else []
    text = to_text(And((*source, query)) if source else query)
    parse(text)
    return text


def _source(rule: SigmaRule) -> list[Query]:
    named = [(name, getattr(rule.logsource, name)) for name in ("category", "product", "service")]
    return [Equals(f"logsource.{name}", value, True) for name, value in named if value is not None]


def _tag(rule: SigmaRule) -> str:
    return f"{rule.level.name.lower() if rule.level else 'unknown'}: {rule.title}"


def _query(item: Any) -> Query:
    match item:
        case conditions.ConditionAND():
            return And(tuple(map(_query, item.args)))
        case conditions.ConditionOR():
            return Or(tuple(map(_query, item.args)))
        case conditions.ConditionNOT():
            return Not(_query(item.args[0]))
        case conditions.ConditionFieldEqualsValueExpression():
            return _condition(item.field, item.value)
        case _:
            raise QueryError("it looks for keywords anywhere in an event, without a field")


def _condition(name: str, value: Any) -> Query:
    match value:
        case types.SigmaString():
            return text_condition(name, [*_parts(value)], isinstance(value, types.SigmaCasedString))
        case types.SigmaNumber():
            return number_condition(name, value.number)
        case types.SigmaBool():
            return Equals(name, "true" if value.boolean else "false")
        case types.SigmaRegularExpression():
            return regex_condition(name, str(value.regexp), [flag.name for flag in value.flags])
        case types.SigmaCIDRExpression():
            return net_condition(name, value.cidr)
        case types.SigmaCompareExpression():
            return number_condition(name, value.number.number, value.op.value)
        case types.SigmaExists():
            return Present(name) if value.exists else Not(Present(name))
        case types.SigmaNull():
            return Not(Present(name))
        case types.SigmaExpansion():
            return Or(tuple(_condition(name, own) for own in value.values))
        case _:
            raise QueryError(f"a {type(value).__name__} cannot be said")


def _parts(text: types.SigmaString) -> Iterator[str | int]:
    for part in text.s:
        yield part if isinstance(part, str) else _SIGNS.get(part, 0)
