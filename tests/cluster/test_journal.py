"""Is a page of a journal that cannot be read told by name, and what is forgotten? Without a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidings.cluster.journal import Journal, Pin, Report
from tidings.model import DataError
from tidings.model.values import utc_now

DAMAGE = [
    *("", "not json", "[1]", "{}", '{"batch": 7, "loads": [], "at": "2020-01-01", "unknown": 1}'),
    '{"batch": 7, "loads": 3, "at": "never"}',
]


@pytest.mark.parametrize("text", DAMAGE)
def test_a_damaged_page_is_named_with_a_remedy(tmp_path: Path, text: str) -> None:
    journal = Journal(tmp_path)
    journal.put(Pin(7, 3, "replicated", 1, utc_now()))
    journal.close(Report(7, 3, posts=10, rejected=0, matches=2, ms=80.0))
    assert journal.pin(7) is not None and journal.report(7) is not None
    for file in tmp_path.iterdir():
        file.write_text(text)
    for read in (journal.pin, journal.report):
        with pytest.raises(DataError, match=r"000000000007\..*not a page of a journal.*new checkpoint folder"):
            read(7)


def test_what_is_older_than_a_batch_is_forgotten_and_the_batch_is_not(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for batch in (2, 3, 4):
        journal.put(Pin(batch, 3, "replicated", 1, utc_now()))
        journal.close(Report(batch, 3, posts=10, rejected=0, matches=2, ms=80.0))
    journal.forget_before(3)
    assert journal.batches == [3, 4] and journal.report(3) is not None and journal.report(2) is None
