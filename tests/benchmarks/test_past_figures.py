from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app


@pytest.mark.spark
@pytest.mark.slow
def test_the_past_that_is_measured_is_whole_and_checked(tmp_path: Path) -> None:
    saved = tmp_path / "past.json"
    words = ["pipeline-past", "--posts", "3000", "--batch-posts", "1500", "--subscriptions", "50", "--save", str(saved)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    figures = json.loads(saved.read_text())["figures"]
    assert figures["past_posts"] == figures["posts_kept"] == 4_000 and figures["new_subscriptions"] == 50
    assert figures["past_matches"] >= figures["checked_matches"] > 0 < figures["past_s"]
