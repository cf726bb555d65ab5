"""Can anything answer this query? Contradictions that are no errors, but hardly what was meant."""

from __future__ import annotations

from tidings.language.atoms import ResolvedAtom
from tidings.language.covering import SINGLE_VALUED, closed, is_impossible
from tidings.language.normal import Conjunction
from tidings.model.query import Range

NEVER = "no publication can answer it: what it asks for contradicts itself"
MAX_COMPARED = 10_000
"""Queries in which more pairs of atoms would have to be compared are not looked at."""

NEVER_PARTLY = "one of its alternatives can never match: what that asks for contradicts itself"


def doubt_of(form: tuple[Conjunction, ...]) -> str | None:
    """What is doubtful about a query in normal form. Never without reason, but some contradictions are not seen.

    >>> from tidings.language import parse_normal
    >>> doubt_of(parse_normal('"white house" -house')[1])
    'no publication can answer it: what it asks for contradicts itself'
    >>> doubt_of(parse_normal("price:>5 price:<3")[1])
    'only several values of price at once can answer it: no single one lies in all of its ranges'
    """
    if sum((len(each.required) + len(each.forbidden)) ** 2 for each in form) > MAX_COMPARED:
        return None
    never = [is_impossible(conjunction) for conjunction in form]
    if any(never):
        return NEVER if all(never) else NEVER_PARTLY
    apart = [name for conjunction in form for name in _apart(conjunction.required)]
    if apart:
        return f"only several values of {apart[0]} at once can answer it: no single one lies in all of its ranges"
    return None


def _apart(atoms: tuple[ResolvedAtom, ...]) -> list[str]:
    """The attributes of which several ranges are asked that have no value in common."""
    asked: dict[str, list[Range]] = {}
    for atom in atoms:
        if isinstance(atom, Range) and atom.name not in SINGLE_VALUED:
            asked.setdefault(atom.name, []).append(atom)
    return [name for name, ranges in asked.items() if len(ranges) > 1 and not _share_a_value(ranges)]


def _share_a_value(ranges: list[Range]) -> bool:
    bounds = [closed(own) for own in ranges]
    if len({type(low) for low, _ in bounds}) > 1:
        return False
    return max(low for low, _ in bounds) <= min(high for _, high in bounds)  # type: ignore[operator]
