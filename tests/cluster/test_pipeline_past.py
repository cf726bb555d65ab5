"""Does each new subscription with a past get it once, in the first batch that sees it, and is it known from when on?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.cluster.journal import Journal, PastPin, Pin
from tidings.cluster.notes import Notes
from tidings.cluster.past import PipelinePast, newcomers, past_report
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.post_files import TaskPosts
from tidings.model import DataError
from tidings.registry import History, MemoryLog, Registry

AT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def asked(*rows: tuple[str, datetime | None]) -> pa.Table:
    kind = pa.timestamp("us", tz="UTC")
    names, since = [row[0] for row in rows], pa.array([row[1] for row in rows], kind)
    return pa.table({"id": names, "query": ["fire"] * len(rows), "since": since})


@given(
    deeds=st.lists(
        st.tuples(st.sampled_from(["add", "add", "remove", "pin"]), st.sampled_from("abc"), st.booleans()), max_size=25
    ),
    versions=st.sampled_from([2, 1_000]),
)
def test_a_subscription_is_new_once_at_the_first_pin_that_sees_it(
    deeds: list[tuple[str, str, bool]], versions: int
) -> None:
    log = MemoryLog(history=History(versions=versions))
    live: dict[str, tuple[int, bool]] = {}
    seen: set[tuple[str, int]] = set()
    after = log.version
    for deed, name, has_since in deeds:
        if deed == "add":
            live[name] = log.add(asked((name, AT if has_since else None))).version, has_since
        elif deed == "remove":
            log.remove([name])
            live.pop(name, None)
        else:
            new = newcomers(log, after, log.version)
            found = set(zip(new["id"].to_pylist(), new["query_version"].to_pylist(), strict=True))
            assert found == {(one, at) for one, (at, has) in live.items() if has} - seen and len(found) == len(new)
            seen |= {(one, at) for one, (at, _) in live.items()}
            after = log.version


class Driver:
    """A pipeline that keeps posts, without Spark: each batch has one post, which a worker files."""

    def __init__(self, folder: Path, keep: timedelta | None = 10 * HOUR) -> None:
        self.home, self.registry = PipelineFolder(folder / "state"), Registry.create(folder / "registry")
        self.restart(keep)

    def restart(self, keep: timedelta | None) -> None:
        self.past = PipelinePast(self.home.kept, self.home.pasts, self.registry, None, keep)

    def pin(self, batch: int, at: datetime) -> Pin:
        version = self.registry.version
        pin = Pin(batch, version, "replicated", 1, at, "whole", mark=self.registry.mark(version))
        return self.home.journal.put(self.past.pinned(pin, self.home.journal.before(batch)))

    def run(self, batch: int, at: datetime) -> Pin:
        pin = self.pin(batch, at)
        filing = self.past.filing(pin)
        worker = TaskPosts(filing, 0)
        worker.add(pa.table({"id": [f"p{batch}"], "text": ["fire"]}))
        self.past.take(pin, filing, Notes((), (), kept=worker.close()))
        return pin

    def files(self, pin: Pin) -> int:
        job = self.past.job(pin)
        return -1 if job is None else len(job.pieces)


def test_a_pin_says_who_is_new_which_posts_are_past_and_whether_all_were_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    driver = Driver(tmp_path)
    driver.registry.add(asked(("a", AT - HOUR)))
    first = driver.run(0, AT)
    assert first.past is not None and first.past.subscriptions == 0 and driver.files(first) == -1
    assert driver.run(1, AT + HOUR).past is not None
    driver.registry.add(asked(("b", AT), ("c", AT - HOUR), ("d", None)))
    third = driver.run(2, AT + 2 * HOUR)
    assert third.past is not None and (third.past.subscriptions, third.past.incomplete) == (2, 1)
    assert driver.files(third) == 2 and "1 ask for posts from before 2026-01-01T00:00:00+00:00" in caplog.text
    report = past_report(third, Notes((), ()))
    assert report is not None and report.whole_since == AT.isoformat() and report.posts == 0
    assert driver.home.journal.pin(2) == third and past_report(first, Notes((), ())) is None
    fourth = driver.run(3, AT + 3 * HOUR)
    assert fourth.past is not None and fourth.past.subscriptions == 0
    driver.registry.add(asked(("e", AT + 2 * HOUR)))
    late = driver.run(4, AT + 11 * HOUR)
    assert late.past is not None and (late.past.incomplete, driver.files(late)) == (0, 2)  # p2 and p3 happened since
    driver.registry.add(asked(("f", AT)))
    latest = driver.run(5, AT + 12 * HOUR)
    assert latest.past is not None and latest.past.incomplete == 1
    assert driver.files(latest) == 3  # those of 2, 3 and 11 o'clock; the others came too long ago


def test_a_pin_can_be_kept_without_the_registry_as_long_as_its_index_is_there(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    driver.run(0, AT)
    driver.registry.add(asked(("a", AT)))
    pin = driver.pin(1, AT + HOUR)
    job = driver.past.job(pin)
    (tmp_path / "registry").rename(tmp_path / "gone")
    driver.restart(None)
    assert driver.past.has(pin) and driver.past.job(pin) == job and job is not None
    for file in driver.home.pasts.glob("*.*"):
        file.unlink()
    assert not driver.past.has(pin)
    (tmp_path / "gone").rename(tmp_path / "registry")
    again = driver.past.job(pin)
    assert again is not None and (again.span, again.pieces, again.tasks) == (job.span, job.pieces, job.tasks)


def test_batches_that_were_not_kept_make_the_past_incomplete(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    driver.run(0, AT)
    driver.restart(None)
    assert driver.run(1, AT + HOUR).past is None
    driver.restart(10 * HOUR)
    driver.run(2, AT + 2 * HOUR)
    driver.registry.add(asked(("a", AT), ("b", AT + 2 * HOUR)))
    pin = driver.run(3, AT + 3 * HOUR)
    assert pin.past is not None and (pin.past.subscriptions, pin.past.incomplete) == (2, 1)
    assert driver.files(pin) == 2


def test_of_a_registry_that_was_replaced_nobody_is_new(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    driver = Driver(tmp_path)
    driver.registry.add(asked(("a", AT)))
    driver.run(0, AT)
    (tmp_path / "registry").rename(tmp_path / "old")
    other = Registry.create(tmp_path / "registry")
    other.add(asked(("b", AT)))
    other.add(asked(("c", AT)))
    driver.registry = other
    driver.restart(10 * HOUR)
    pin = driver.run(1, AT + HOUR)
    assert pin.past is not None and pin.past.subscriptions == 0 and "none of them a past" in caplog.text
    other.add(asked(("d", AT)))
    assert driver.run(2, AT + HOUR).past.subscriptions == 1  # type: ignore[union-attr]


def test_pins_and_reports_of_before_can_be_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert journal.before(3) is None
    journal.put(Pin(0, 3, "replicated", 1, AT))
    journal.put(Pin(1, 3, "replicated", 1, AT, past=PastPin(1, 2, 3)))
    text = (tmp_path / f"{0:012}.pin.json").read_text()
    assert '"past": null' in text
    (tmp_path / f"{0:012}.pin.json").write_text(text.replace(', "past": null', "").partition(', "crc"')[0] + "}")
    assert journal.pin(0) == Pin(0, 3, "replicated", 1, AT) == journal.before(1)
    assert journal.pin(1) == journal.before(9) and journal.before(9).past == PastPin(1, 2, 3)  # type: ignore[union-attr]


@pytest.mark.parametrize("keep", [timedelta(0), -HOUR, 3600, "1h"])
def test_what_is_no_time_to_keep_posts_is_refused(tmp_path: Path, keep: Any) -> None:
    with pytest.raises(DataError, match="keep is a timedelta longer than nothing"):
        Driver(tmp_path, keep)
