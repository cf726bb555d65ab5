"""Does the page of Sigma quote its result file?"""

from __future__ import annotations

from tests.docs.tables import ROOT, figures_of

PAGE = (ROOT / "docs" / "sigma.md").read_text(encoding="utf-8")


def test_the_page_quotes_its_result_file() -> None:
    figures = figures_of("sigma")
    text = " ".join(PAGE.split())
    for told in (
        "Of the {all_rules:,} public rules {all_said:,} can be said",
        "Against {rules:,} rules of process creations, {events:,} real events",
        "at {events_per_second:,} a second in batches and {published_per_second:,} by `publish`",
        "exactly the {pairs:,} pairs",
    ):
        assert told.format(**figures) in text
    assert figures["all_said"] >= 0.95 * figures["all_rules"]
