"""Are the numbers of the brokers as processes those of the result files, on both pages that have some?"""

from __future__ import annotations

import pytest

from tests.docs.tables import ROOT, check_sentences

PAGES = [ROOT / "docs" / "brokers.md", ROOT / "docs" / "papers" / "padres.md"]
TEXTS = [page.read_text(encoding="utf-8") for page in PAGES]


@pytest.mark.parametrize("text", TEXTS, ids=[page.stem for page in PAGES])
def test_every_number_of_a_sentence_is_in_its_result_file(text: str) -> None:
    assert check_sentences(text, "brokers")
