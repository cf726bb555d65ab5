"""By which of its conditions is a large query found? A few of them; the rest is verified as it was written.

Multiplied out, ``(a OR b) (c OR d)`` has four conjunctions and twenty such pairs have a million. But a publication that
answers has a or b: two conjunctions, each with the formula ``c OR d``, say the same. So an AND is found by the parts
that leave no choice, or by one that does, with the fewest alternatives; all others are formulas. An OR is found by each
of its parts. There are never more conjunctions than atoms.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.analysis import Analyser
from tidings.language.atoms import ResolvedAtom, resolve
from tidings.language.formulas import Formula, Part
from tidings.model.errors import QueryError
from tidings.model.query import And, Not, Or, Query

MAX_ATOMS = 10_000

_FEW = 8
"""So many atoms that must not hold are asked one by one; more of them are a formula."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """What one way to answer a query requires and forbids; formulas are among what is required."""

    required: tuple[ResolvedAtom, ...]
    forbidden: tuple[ResolvedAtom, ...]

    @property
    def is_guarded(self) -> bool:
        return any(not isinstance(atom, Formula) for atom in self.required)


def guarded(query: Query, analyser: Analyser) -> list[Alternative]:
    """The ways to answer a query, none for one that means nothing."""
    part = _part(query, True, analyser)
    if part is None:
        return []
    size = part[1].size if isinstance(part[1], Formula) else 1
    if size > MAX_ATOMS:
        raise QueryError(
            f"it has {size:,} conditions; at most {MAX_ATOMS:,} are taken: split it into several subscriptions"
        )
    return _ways(part)


def _part(query: Query, positive: bool, analyser: Analyser) -> Part | None:
    """A query, or its negation, as a part of a formula: negations are moved to the atoms; None if it means nothing."""
    if isinstance(query, Not):
        return _part(query.child, not positive, analyser)
    if not isinstance(query, And | Or):
        atom = resolve(query, analyser)
        if isinstance(atom, Formula) and not positive:
            return True, Formula(True, tuple((False, part) for _, part in atom.parts), Not(query))
        return None if atom is None else (positive, atom)
    parts = [part for child in query.children if (part := _part(child, positive, analyser)) is not None]
    if len(parts) < 2:
        return parts[0] if parts else None
    source: Query = query if positive else Not(query)
    return True, Formula(isinstance(query, And) == positive, tuple(dict.fromkeys(parts)), source)


def _ways(part: Part) -> list[Alternative]:
    is_wanted, what = part
    if not isinstance(what, Formula):
        return [Alternative((what,), ()) if is_wanted else Alternative((), (what,))]
    ways = [_ways(own) for own in what.parts]
    if not what.is_all:
        return [way for own in ways for way in own]
    surely = _together([own[0] for own in ways if len(own) == 1])
    choices = [n for n, own in enumerate(ways) if len(own) > 1]
    taken = None
    if not surely.is_guarded:
        usable = [n for n in choices if all(way.is_guarded for way in ways[n])]
        taken = min(usable, key=lambda n: len(ways[n]), default=None)
    rest = Alternative(tuple(what.parts[n][1] for n in choices if n != taken), ())
    if taken is None:
        return [_together([surely, rest])]
    others = _together([_few(surely), rest])
    return [_together([way, others]) for way in ways[taken]]


def _few(found: Alternative) -> Alternative:
    """The same, with many atoms that must not hold as a formula."""
    if len(found.forbidden) <= _FEW:
        return found
    return Alternative((*found.required, Formula(True, tuple((False, atom) for atom in found.forbidden))), ())


def _together(ways: list[Alternative]) -> Alternative:
    required = dict.fromkeys(atom for way in ways for atom in way.required)
    return Alternative(tuple(required), tuple(dict.fromkeys(atom for way in ways for atom in way.forbidden)))
