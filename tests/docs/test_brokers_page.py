"""Are the numbers of the brokers as processes those of the result files, on both pages that have some?"""

from __future__ import annotations

import pytest

from tests.docs.tables import ROOT, PageTable, check_sentences, figures_of, tables

PAGES = [ROOT / "docs" / "brokers.md", ROOT / "docs" / "papers" / "padres.md"]
TEXTS = [page.read_text(encoding="utf-8") for page in PAGES]


@pytest.mark.parametrize("table", [table for text in TEXTS for table in tables(text, "brokers")])
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


@pytest.mark.parametrize("text", TEXTS, ids=[page.stem for page in PAGES])
def test_every_number_of_a_sentence_is_in_its_result_file(text: str) -> None:
    assert check_sentences(text, "brokers")


def test_what_is_said_of_hostile_frames_is_in_their_result_file() -> None:
    assert check_sentences(TEXTS[0], "fuzz") == 1
    figures = figures_of("fuzz-frames")
    assert figures["failures"] == [] and figures["accepted"] + figures["refused"] == figures["count"]
    assert round(figures["slowest_ms"], -1) == 250
