"""Are the numbers of the page of [PADRES] those of the result files?"""

from __future__ import annotations

import pytest

from tests.docs.tables import RESULTS, ROOT, PageTable, check_sentences, tables

PAGE = (ROOT / "docs" / "papers" / "padres.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", tables(PAGE, "padres"), ids=lambda table: table.file)
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


def test_the_page_has_every_result_file() -> None:
    files = {path.stem for path in RESULTS.glob("padres-*.json")}
    assert files
    assert all(f"../results/{name}.json" in PAGE for name in files)


def test_every_number_of_a_sentence_is_in_its_result_file() -> None:
    assert check_sentences(PAGE, "padres")
