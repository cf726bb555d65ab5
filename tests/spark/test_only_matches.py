"""What ``match`` leaves out: do the workers say so? In this process, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.nested import ASKED, EVENTS, expected
from tests.spark import inprocess
from tidings.analysis import ENGLISH
from tidings.cluster.releases import Release
from tidings.cluster.steps import MatchAll, MatchShare, Route
from tidings.registry.validation import check_subscriptions
from tidings.spark import Plan, Releases
from tidings.spark.tasks import OnlyMatches

PLANS = {"replicated": Plan("replicated"), "partitioned": Plan("partitioned", 3)}


@pytest.fixture(params=sorted(PLANS))
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Release:
    table = pa.concat_tables([ASKED, pa.table({"id": ["all"], "query": ["has:id"]})])
    return Releases(tmp_path, plan=PLANS[request.param]).compiled(check_subscriptions(table, ENGLISH).accepted)


def test_workers_log_what_they_reject_once_for_each_task(release: Release, caplog: pytest.LogCaptureFixture) -> None:
    posts = pa.table(
        {"id": [*"abaaaaaac", None], "text": ["fire"] * 10, "lat": ["1"] * 8 + ["x", "1"], "lon": ["1"] * 10}
    )
    batches = posts.to_batches(max_chunksize=3)
    if release.layout == "replicated":
        found = list(OnlyMatches(MatchAll(release))(iter(batches)))
    else:
        sent = pa.Table.from_batches(list(Route(release)(iter(batches)))).combine_chunks()
        found = list(OnlyMatches(MatchShare(release))(iter(sent.to_batches())))
    assert {row["publication_id"] for batch in found for row in batch.to_pylist()} == {"a", "b"}
    [record] = caplog.records
    assert record.message.startswith(
        "rejected 8 publications, which have no matches: publication 'a': its id came before"
    )
    assert record.message.endswith("; and 3 more") and record.message.count("came before") == 5


def test_nested_events_are_found_in_the_workers(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inprocess, "read", lambda table, _: table)
    found = inprocess.found(pa.Table.from_pylist(EVENTS), release, batch_rows=2)
    assert sorted(pair for pair in found.pairs if pair[1] != "all") == expected() and not found.notes.rejected
