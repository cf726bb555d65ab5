"""Which beginnings of words (``terror*``) are asked for, and which texts have a form that begins so?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tidings.language.atoms import MIN_PREFIX_CHARS, FormPrefix
from tidings.model.publication import Publication
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Key, Kind, Reading
from tidings.terms.pairs import Pairs, as_pairs


class Prefixes(Kind):
    """By beginning, folded and not stemmed."""

    names = ("prefix",)
    atoms = (FormPrefix,)
    guess = 0.02

    def __init__(self) -> None:
        super().__init__()
        self._terms: dict[str, int] = {}
        self._heads: set[str] = set()
        """How forms begin that have a prefix which is asked for."""
        self._lengths: list[int] = []

    @staticmethod
    def key(atom: FormPrefix) -> Key:
        return "prefix", atom.beginning

    @staticmethod
    def called(key: Key) -> str:
        return f"{key[1]}*"

    def put(self, key: Key, term: int) -> None:
        beginning = key[1]
        self._terms[beginning] = term
        self._heads.add(beginning[:MIN_PREFIX_CHARS])
        self._lengths = sorted({*self._lengths, len(beginning)})
        super().put(key, term)

    def of_table(self, reading: Reading) -> list[Pairs]:
        forms = reading.forms
        forms.expect(self._heads)
        sets = forms.analyse(reading.text)
        seen = np.unique(sets.ids)
        found = self._of_forms(forms.vocabulary.some(seen.tolist()))
        terms = {forms.vocabulary.find(form): own for form, own in found.items()}
        rows = np.repeat(np.arange(len(sets)), np.diff(sets.offsets))
        places = np.flatnonzero(np.isin(sets.ids, np.array([*terms], dtype=np.int32)))
        return [as_pairs({(int(rows[k]), term) for k in places for term in terms[int(sets.ids[k])]})]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:
        if not publication.text:
            return ()
        forms.expect(self._heads)
        found = self._of_forms(forms.vocabulary.some(forms.analyse_one(publication.text).tolist()))
        return {term for own in found.values() for term in own}

    def _of_forms(self, forms: Iterable[str]) -> dict[str, list[int]]:
        """Those of some forms that begin as somebody asks, each with the terms of its prefixes."""
        lengths, terms = self._lengths, self._terms
        found = {form: [terms[form[:n]] for n in lengths if form[:n] in terms] for form in forms}
        return {form: own for form, own in found.items() if own}
