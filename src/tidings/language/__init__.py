"""Query text ↔ query; its normal form; which query covers which; and what it means, by definition."""

from tidings.language.areas import area_of
from tidings.language.atoms import FormPrefix, ResolvedAtom, Sequence, resolve
from tidings.language.covering import covers, form_covers
from tidings.language.evaluation import Content, evaluate, evaluate_content, holds
from tidings.language.explanation import Explanation, explain
from tidings.language.normal import Conjunction, normal_form
from tidings.language.parser import parse, parse_normal
from tidings.language.polygons import polygon
from tidings.language.printer import to_text

__all__ = [
    "Conjunction",
    "Content",
    "Explanation",
    "FormPrefix",
    "ResolvedAtom",
    "Sequence",
    "area_of",
    "covers",
    "evaluate",
    "evaluate_content",
    "explain",
    "form_covers",
    "holds",
    "normal_form",
    "parse",
    "parse_normal",
    "polygon",
    "resolve",
    "to_text",
]
