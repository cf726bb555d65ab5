"""Which few conjunctions is a query? Its disjunctive normal form, bounded in size.

Each conjunction is a set of atoms that must hold and a set that must not. Every index works on these; the size is
computed before the form is: a query whose form explodes is not multiplied out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

from tidings.analysis import Analyser
from tidings.language.atoms import NOTHING_LEFT, AttributeWords, FieldPrefix, FieldWords, ResolvedAtom, resolve
from tidings.language.formulas import Formula
from tidings.language.guarded import guarded
from tidings.model.errors import QueryError
from tidings.model.query import And, Anywhere, Not, Or, Query

MAX_TERMS = 1_024
MAX_DEPTH = 64

_JOINS = (And, Or)
_Pair = tuple[tuple[ResolvedAtom, ...], tuple[ResolvedAtom, ...]]  # what is required, and what is forbidden


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Atoms that must all hold, and atoms none of which may; each once, in order of appearance.

    Of those that must at least one is no formula.
    """

    required: tuple[ResolvedAtom, ...]
    forbidden: tuple[ResolvedAtom, ...] = ()


def normal_form(query: Query, analyser: Analyser) -> tuple[Conjunction, ...]:
    """The disjunctive normal form: at least one conjunction, none without something required.

    One that would have more than 1,024 atoms is not multiplied out: of the alternatives inside an AND some become
    conjunctions, the others are formulas of these (:mod:`tidings.language.guarded`).

    Refuses with :class:`QueryError`: more than 10,000 atoms, nesting deeper than 64, nothing but stop words, an
    alternative with nothing positive, a query that no publication can answer.

    >>> from tidings.language import parse
    >>> for c in normal_form(parse("(fire OR smoke) -drill"), Analyser()):
    ...     print([a.words for a in c.required], [a.words for a in c.forbidden])
    [('fire',)] [('drill',)]
    [('smoke',)] [('drill',)]
    """
    if not isinstance(query, Query):
        raise QueryError(f"a query is what tidings.parse gives, got {query!r}")
    _, size = _size(query, positive=True)
    if size > MAX_TERMS:
        return _checked([Conjunction(way.required, way.forbidden) for way in guarded(query, analyser)])
    expanded = _expand(query, True, analyser)
    possible = _checked([Conjunction(required, forbidden) for required, forbidden in dict.fromkeys(expanded or ())])
    return _without_absorbed(possible) if len(possible) > 1 else possible


def _checked(conjunctions: list[Conjunction]) -> tuple[Conjunction, ...]:
    """Those that something can answer, if all of them have something to be found by."""
    if not conjunctions:
        raise QueryError(NOTHING_LEFT)
    possible = [each for each in conjunctions if not each.forbidden or set(each.required).isdisjoint(each.forbidden)]
    if not possible:
        raise QueryError("no publication can answer it: it requires and excludes the same thing")
    for conjunction in possible:
        if all(isinstance(atom, Formula) for atom in conjunction.required):
            raise QueryError(
                "an alternative only excludes; add something that it must have, as in: fire -drill",
                culprit=_source(conjunction.forbidden[0]) if conjunction.forbidden else None,
            )
    return tuple(possible)


def _joins_all(query: And | Or, positive: bool) -> bool:
    """Whether the children are multiplied out: AND, and (by De Morgan) OR under a negation."""
    return isinstance(query, And) == positive


def _size(query: Query, positive: bool, depth: int = 0) -> tuple[int, int]:
    """How many conjunctions and how many atoms in all the expansion will have."""
    if depth == MAX_DEPTH:
        raise QueryError(f"it is nested deeper than {MAX_DEPTH} levels", culprit=query)
    if isinstance(query, Not):
        return _size(query.child, not positive, depth + 1)
    if isinstance(query, Anywhere):
        return (2, 2) if positive else (1, 2)
    if not isinstance(query, _JOINS):
        return 1, 1
    sizes = [_size(child, positive, depth + 1) for child in query.children]
    if not _joins_all(query, positive):
        return sum([count for count, _ in sizes]), sum([atoms for _, atoms in sizes])
    count = prod([count for count, _ in sizes])
    if count > MAX_TERMS:  # no need to know how many
        return MAX_TERMS + 1, MAX_TERMS + 1
    return count, sum([atoms * (count // own) for own, atoms in sizes])


def _expand(query: Query, positive: bool, analyser: Analyser) -> list[_Pair] | None:
    """The conjunctions of a query or of its negation; None for one that means nothing."""
    if isinstance(query, Not):
        return _expand(query.child, not positive, analyser)
    if not isinstance(query, _JOINS):
        atom = resolve(query, analyser)
        if atom is None:
            return None
        if isinstance(atom, Formula):
            own = [part for _, part in atom.parts]
            return [((part,), ()) for part in own] if positive else [((), tuple(own))]
        return [((atom,), ()) if positive else ((), (atom,))]
    expanded = [_expand(child, positive, analyser) for child in query.children]
    meaningful = [pairs for pairs in expanded if pairs is not None]
    if not meaningful:
        return None
    if not _joins_all(query, positive):
        return [pair for pairs in meaningful for pair in pairs]
    # Children with one alternative first and all at once: a long plain AND is then linear, not quadratic.
    product = [_joined([pairs[0] for pairs in meaningful if len(pairs) == 1])]
    for pairs in meaningful:
        if len(pairs) > 1:
            product = [_joined([left, right]) for left in product for right in pairs]
    return product


def _joined(pairs: list[_Pair]) -> _Pair:
    required = dict.fromkeys([atom for own, _ in pairs for atom in own])
    forbidden = dict.fromkeys([atom for _, own in pairs for atom in own])
    return tuple(required), tuple(forbidden)


def _without_absorbed(conjunctions: tuple[Conjunction, ...]) -> tuple[Conjunction, ...]:
    """Drop what asks for more than another alternative does: ``fire OR (fire smoke)`` is ``fire``."""
    demands = {_demands(conjunction): conjunction for conjunction in reversed(conjunctions)}
    if len(set(map(len, demands))) == 1:  # none asks for more
        return tuple(reversed(demands.values()))
    # Whatever absorbs a conjunction is a subset of its demands: file each under its rarest one, and look only there.
    uses = Counter(demand for own in demands for demand in own)
    filed: dict[tuple[bool, ResolvedAtom], list[frozenset[tuple[bool, ResolvedAtom]]]] = {}
    for own in demands:
        filed.setdefault(min(own, key=lambda demand: uses[demand]), []).append(own)

    def is_absorbed(own: frozenset[tuple[bool, ResolvedAtom]]) -> bool:
        return any(other < own for demand in own for other in filed.get(demand, ()))

    return tuple(conjunction for own, conjunction in reversed(demands.items()) if not is_absorbed(own))


def _demands(conjunction: Conjunction) -> frozenset[tuple[bool, ResolvedAtom]]:
    required = [(True, atom) for atom in conjunction.required]
    return frozenset(required + [(False, atom) for atom in conjunction.forbidden])


def _source(atom: ResolvedAtom) -> object:
    """The node of the tree that an atom came from."""
    if isinstance(atom, FieldWords | FieldPrefix | AttributeWords):
        atom = atom.word if isinstance(atom, FieldPrefix) else atom.sequence
    return getattr(atom, "source", None) or atom
