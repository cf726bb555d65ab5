"""Does the page of the past quote its result file?"""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "past.md").read_text()
DEPLOYMENT = (ROOT / "docs" / "deployment.md").read_text()
ON_SPARK = json.loads((ROOT / "docs" / "results" / "pipeline-past.json").read_text())["figures"]
FIGURES = json.loads((ROOT / "docs" / "results" / "keep.json").read_text())["figures"]


def row(name: str) -> list[str]:
    """The cells of a row, without emphasis."""
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| {name}")]
    return [cell.strip().strip("*") for cell in line.strip("|").split("|")][1:]


def test_the_page_quotes_the_rates_of_publishing() -> None:
    for name, key in (("one by one", "one_by_one"), ("as tables, the best", "tables")):
        rates = [f"{FIGURES[f'{key}{kept}_per_cpu_s']:,}" for kept in ("", "_kept")]
        assert row(name)[:3] == [*rates, f"{FIGURES[f'{key}_ratio']:.3f}"]
    assert row("as tables, 1,000,000")[2] == f"{FIGURES['tables_with_files_ratio']:.3f}"


def test_the_page_quotes_the_times_of_pasts() -> None:
    assert row("posts with the word") == [f"{length:,}" for length in FIGURES["guard_posts"]]
    for name, key in (("the past of a word", "plain_cpu_ms"), ("each post verified", "verified_cpu_ms")):
        assert [float(cell) for cell in row(name)] == FIGURES[key]


def test_the_page_of_deployment_quotes_the_past_on_spark() -> None:
    for quoted in (
        f"{ON_SPARK['new_subscriptions']:,} new subscriptions",
        f"{ON_SPARK['past_posts']:,} kept posts",
        f"{ON_SPARK['past_matches']:,} matches",
        f"**{ON_SPARK['past_s']}** s",
        f"{ON_SPARK['kept_mb']:,} MB",
    ):
        assert quoted in DEPLOYMENT
