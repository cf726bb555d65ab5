"""Are the numbers of the page of [PADRES] those of the result files?"""

from __future__ import annotations

import pytest

from tests.docs.tables import RESULTS, ROOT, PageTable, check_sentences, one, rows_of, tables

PAGE = (ROOT / "docs" / "papers" / "padres.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", [*tables(PAGE, "padres"), *tables(PAGE, "policies")], ids=lambda table: table.file)
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


def test_the_page_has_every_result_file() -> None:
    files = {path.stem for path in RESULTS.glob("padres-*.json")}
    assert files
    assert all(f"../results/{name}.json" in PAGE for name in files)


def test_every_number_of_a_sentence_is_in_its_result_file() -> None:
    assert check_sentences(PAGE, "padres")


def test_what_is_said_of_policies_on_parcels_follows_from_their_figures() -> None:
    none, local, padres = (one(rows_of("policies"), policy=policy) for policy in ("none", "local", "padres"))
    assert (round(local["by_load"], 2), round(padres["by_load"], 2), none["by_load"]) == (1.45, 1.33, 1)
    assert padres["by_load_moved_beside"] > local["by_load_moved_beside"]
    assert local["largest_by_mean"] > padres["largest_by_mean"]
    assert 3 * local["subscriptions_moved"] < padres["subscriptions_moved"]
    assert (local["times_moved"], local["last_moved_at"], padres["times_moved"]) == (4, 101, 26)
    assert padres["posts_to_matchers"] < local["posts_to_matchers"] < none["posts_to_matchers"]
    assert padres["parcels_moved"] < local["parcels_moved"]
    for policy in (local, padres):
        assert policy["times_as_many"] <= policy["times_as_many_moved_beside"] < 1 < policy["times_as_many_by_busiest"]
