"""Why did it match, or why not?"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.analysis import ENGLISH, Analyser
from tidings.language.atoms import (
    AttributeWords,
    FieldPrefix,
    FieldWords,
    FoldedTag,
    FormPrefix,
    ResolvedAtom,
    Sequence,
)
from tidings.language.evaluation import Content, has_sequence, holds
from tidings.language.formulas import Formula
from tidings.language.normal import Conjunction, normal_form
from tidings.language.printer import to_text
from tidings.model.publication import Publication
from tidings.model.query import Query, Topic, Within
from tidings.model.tags import written_tags
from tidings.model.values import Value, value_text

_TOLD = 5
"""So many values of an attribute are named."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """``matched``, and the reasons: all conditions of the alternative that held, or what each alternative failed on."""

    matched: bool
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return ("matched: " if self.matched else "no match: ") + "; ".join(self.reasons)


def explain(query: Query, publication: Publication, analyser: Analyser = ENGLISH) -> Explanation:
    """What matched, or the first thing that failed in each alternative.

    >>> from tidings.language import parse
    >>> print(explain(parse("(fire OR smoke) -drill"), Publication("p1", "Smoke over the harbour")))
    matched: smoke: "smoke"; no drill
    >>> print(explain(parse("fire volume:>10"), Publication("p1", "Fire!", attributes={"volume": 3})))
    no match: volume:>10: volume is 3
    """
    content = Content.of(publication, analyser)
    failures = []
    for conjunction in normal_form(query, analyser):
        failure = _first_failure(conjunction, content)
        if failure is None:
            return Explanation(True, _successes(conjunction, content))
        failures.append(failure)
    return Explanation(False, tuple(dict.fromkeys(failures)))


def _first_failure(conjunction: Conjunction, content: Content) -> str | None:
    for atom in conjunction.required:
        if not holds(atom, content):
            return f"{_written(atom)}: {_missed(atom, content)}"
    for atom in conjunction.forbidden:
        if holds(atom, content):
            return f"-{_written(atom)}: {_seen(atom, content)}"
    return None


def _missed(atom: ResolvedAtom, content: Content) -> str:
    """Why a required atom does not hold."""
    seen = _seen(atom, content)
    if isinstance(atom, Sequence) and seen:
        return f"only {seen}" if len(seen.split(",")) < len(set(atom.words)) else f"{seen}, but not so"
    return seen or "not found"


def _successes(conjunction: Conjunction, content: Content) -> tuple[str, ...]:
    found = [f"{_written(atom)}: {_seen(atom, content)}" for atom in conjunction.required]
    return tuple(found + [f"no {_written(atom)}" for atom in conjunction.forbidden])


def _written(atom: ResolvedAtom) -> str:
    """The atom as its author wrote it."""
    if isinstance(atom, Formula):
        return to_text(atom.source) if atom.source is not None else "what is excluded"
    if isinstance(atom, FieldWords | FieldPrefix | AttributeWords):
        return _written(atom.word if isinstance(atom, FieldPrefix) else atom.sequence)
    if isinstance(atom, Sequence | FoldedTag | FormPrefix):
        return to_text(atom.source) if atom.source is not None else repr(atom)
    return to_text(atom)


def _seen(atom: ResolvedAtom, content: Content) -> str:
    """What the publication has to say to an atom."""
    publication = content.publication
    match atom:
        case Sequence(words):
            forms = [token.form for token in content.tokens if token.word in words]
            return ", ".join(f'"{form}"' for form in dict.fromkeys(forms))
        case FormPrefix(beginning):
            kept = (token.form for token in content.tokens if token.word is not None)
            forms = [form for form in kept if form.startswith(beginning)]
            return ", ".join(f'"{form}"' for form in dict.fromkeys(forms))
        case Formula():
            return ""
        case FoldedTag():
            return ", ".join(dict.fromkeys(written_tags(publication.text)))
        case AttributeWords():
            found = [name for name in publication.attributes if _has_words(atom, name, content)]
            return "; ".join(_told(name, publication.values(name)) for name in found)
        case Within():
            return "no place" if publication.lon is None else f"it is at {publication.lon:g} {publication.lat:g}"
        case Topic():
            return f"its topic is {', '.join(publication.topics)}" if publication.topics else "no topic"
        case _:
            return _told(atom.name, publication.values(atom.name))


def _has_words(asked: AttributeWords, name: str, content: Content) -> bool:
    return any(has_sequence(asked.sequence, tokens) for tokens in content.of_field(name))


def _told(name: str, values: tuple[Value, ...]) -> str:
    """What an attribute holds, the first of many values."""
    if not values:
        return f"no {name}"
    more = f" and {len(values) - _TOLD:,} more" if len(values) > _TOLD else ""
    return f"{name} is {', '.join(value_text(value) for value in values[:_TOLD])}{more}"
