"""Can other processes subscribe, and read the past, in the folder of an engine that keeps publications?"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tests.engine.test_past import file_all
from tidings.engine import Engine
from tidings.model import DataError, SubscriptionError
from tidings.storage import kept

DAY = timedelta(days=1)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
READ = """
import sys
from datetime import timedelta
from tests.engine.test_readers_of_past import LONG_AGO
from tidings.engine import Engine
with Engine(sys.argv[1], keep=timedelta(days=1)) as engine:
    found = engine.subscribe("fire", id="far", since=LONG_AGO)
    print(*(match.publication_id for match in found.past))
"""


def ids(found: object) -> list[str]:
    return [match.publication_id for match in found.past]  # type: ignore[attr-defined]


def test_a_reader_has_what_the_writer_keeps_in_whatever_state_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "PART_BYTES", 400)
    with Engine(tmp_path, keep=DAY) as writer, Engine(tmp_path, keep=DAY) as reader:
        for number in range(30):
            writer.publish(id=f"p{number}", text="fire")
            if number % 7 == 0:
                file_all(writer)
            if number % 5 == 0:
                found = reader.subscribe("fire", id=f"s{number}", since=LONG_AGO)
                assert ids(found) == [f"p{n}" for n in range(number, -1, -1)] and not found.complete
        assert len([path for path in (tmp_path / "past").iterdir() if path.name.startswith("block-")]) > 3


def test_a_reader_cannot_publish_and_the_next_process_can(tmp_path: Path) -> None:
    with Engine(tmp_path, keep=DAY) as writer:
        with Engine(tmp_path, keep=DAY) as reader:
            with pytest.raises(DataError, match="another process keeps the publications"):
                reader.publish(id="p1", text="fire")
            with pytest.raises(DataError, match="another process keeps the publications"):
                reader.match(pa.table({"id": ["p1"]}))
        writer.publish(id="p2", text="fire")
    with Engine(tmp_path, keep=DAY) as next_one:
        next_one.publish(id="p3", text="fire")
        assert ids(next_one.subscribe("fire", since=LONG_AGO)) == ["p3", "p2"]


def test_what_came_before_the_writer_knew_of_a_subscription_is_its_past(tmp_path: Path) -> None:
    with Engine(tmp_path, keep=DAY) as writer, Engine(tmp_path, keep=DAY) as reader:
        writer.publish(id="p1", text="fire")
        assert ids(reader.subscribe("fire", id="s1", since=LONG_AGO)) == ["p1"]
        assert not writer.publish(id="p2", text="fire")
        writer.refresh()
        assert [match.subscription_id for match in writer.publish(id="p3", text="fire")] == ["s1"]
        assert ids(reader.past("s1")) == ids(writer.past("s1")) == ["p2", "p1"]


def test_the_past_of_many_is_asked_for_one_by_one(tmp_path: Path) -> None:
    with Engine(tmp_path, keep=DAY) as engine:
        engine.publish(id="p1", text="fire")
        since = pa.array([LONG_AGO, None], pa.timestamp("us", "UTC"))
        engine.subscribe_many(pa.table({"id": ["s1", "s2"], "query": ["fire", "fire"], "since": since}))
        engine.publish(id="p2", text="fire")
        assert ids(engine.past("s1")) == ["p1"] and ids(engine.past("s2")) == []
        with pytest.raises(SubscriptionError, match="there is no subscription 's3'"):
            engine.past("s3")


@pytest.mark.thorough
def test_another_process_reads_the_past(tmp_path: Path) -> None:
    with Engine(tmp_path, keep=DAY) as writer:
        writer.publish(id="p1", text="fire")
        read = subprocess.run([sys.executable, "-c", READ, tmp_path], capture_output=True, text=True, check=True)
        assert read.stdout.split() == ["p1"]
        writer.refresh()
        assert [match.subscription_id for match in writer.publish(id="p2", text="fire")] == ["far"]
