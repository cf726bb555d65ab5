"""Which kinds of terms are there, beside words, cells and intervals? A new one is a file here, named in ``KINDS``."""

from __future__ import annotations

from tidings.terms.kinds.equalities import Equalities
from tidings.terms.kinds.field_words import WordsAnywhere, WordsOfFields
from tidings.terms.kinds.kind import Kind, TermAtom
from tidings.terms.kinds.networks import Networks
from tidings.terms.kinds.pieces import Pieces
from tidings.terms.kinds.prefixes import Prefixes
from tidings.terms.kinds.presences import Presences
from tidings.terms.kinds.tags import Tags
from tidings.terms.kinds.topics import TopicPaths

KINDS: tuple[type[Kind], ...] = (
    Prefixes,
    Presences,
    TopicPaths,
    Equalities,
    Pieces,
    WordsOfFields,
    Networks,
    WordsAnywhere,
    Tags,
)
OF_ATOM = {atom: kind for kind in KINDS for atom in kind.atoms}

__all__ = ["KINDS", "OF_ATOM", "Kind", "TermAtom"]
