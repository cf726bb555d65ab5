"""Which tags (``#fire``, ``$BHP``, ``@nswrfs``) are asked for, and which texts have them?

Posts are looked through for tags only if somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import tags
from tidings.language.atoms import FoldedTag
from tidings.model.publication import Publication
from tidings.model.tags import SIGNS
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Key, Kind, Reading
from tidings.terms.pairs import Pairs, as_pairs


class Tags(Kind):
    """By tag, with its sign, folded."""

    names = ("tag",)
    atoms = (FoldedTag,)
    guess = 0.01

    @staticmethod
    def key(atom: FoldedTag) -> Key:
        return "tag", atom.tag

    @staticmethod
    def called(key: Key) -> str:
        return str(key[1])

    def of_table(self, reading: Reading) -> list[Pairs]:
        if "text" not in reading.table.column_names:
            return []
        signs = {tag[0] for _, tag in list(self.ids)}
        wide = [sign for sign in SIGNS if sign in signs or not sign.isascii()]
        texts = reading.text.cast(pa.large_string())
        rows = np.flatnonzero(pc.fill_null(pc.match_substring_regex(texts, f"[{''.join(wide)}]"), False).to_numpy())
        found = zip(rows.tolist(), texts.take(pa.array(rows)).to_pylist(), strict=True)
        return [as_pairs({(row, term) for row, text in found for term in self._of_text(text)})]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:  # noqa: ARG002
        return self._of_text(publication.text)

    def _of_text(self, text: str) -> set[int]:
        return {term for tag in tags(text) if (term := self.ids.get(("tag", tag))) is not None}
