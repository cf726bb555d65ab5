"""Does ``tidings run`` run the pipeline of a file, stop when it is told to, and go on later?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from rich.console import Console

from tests.cli.conftest import Tidings
from tests.spark import oracle
from tidings.cli.board import Totals, board
from tidings.cluster.journal import MatcherReport, Report
from tidings.registry import Registry
from tidings.spark.progress import Progress

CONFIG = """
registry = "registry"
checkpoint = "state"
[source]
format = "files"
path = "posts"
files_per_batch = 1
[sink]
format = "parquet"
path = "matches"
[spark]
"spark.master" = "local[2,4]"
"spark.ui.enabled" = "false"
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""


def test_the_board_shows_rates_lag_and_the_load_of_matchers(tmp_path: Path) -> None:
    totals = Totals()
    with (tmp_path / "screen").open("w") as screen:
        console = Console(file=screen, force_terminal=True, width=100)
        with board(totals, console) as show:
            for batch in range(2):
                loads = (MatcherReport(0, 600, 5000, 30, 10.0), MatcherReport(1, 400, 3000, 12, 40.0))
                show(Progress(Report(batch, 7, 1000, 3, 42, 80.0, loads), 12_345.6, 9.0, "now"))
    drawn = (tmp_path / "screen").read_text()
    assert "12,346" in drawn and "5,000" in drawn and "█" * 24 in drawn
    assert str(totals) == "2,000 posts in 2 batches, 84 matches, 6 rejected"
    assert "level" not in drawn


def test_what_is_shed_is_on_the_board(tmp_path: Path) -> None:
    totals = Totals()
    report = Report(
        0, 7, 1000, 3, 42, 80.0, (MatcherReport(0, 600, 5000, 30, 10.0, 4321, 8.4),), 5, 900, 100, 4321, 8.4
    )
    with (tmp_path / "screen").open("w") as screen:
        console = Console(file=screen, force_terminal=True, width=120, height=40)
        with board(totals, console) as show:
            show(Progress(report, 12_345.6, 9.0, "now"))
    drawn = (tmp_path / "screen").read_text()
    assert "level" in drawn and drawn.count("4,321") >= 3
    assert str(totals).endswith("4,321 deliveries to matchers shed with about 8 matches")


def test_nothing_is_drawn_where_nobody_looks(tmp_path: Path) -> None:
    totals = Totals()
    with (tmp_path / "screen").open("w") as screen, board(totals, Console(file=screen)) as show:
        show(Progress(Report(0, 7, 1000, 3, 42, 80.0), 1.0, None, "now"))
    assert (tmp_path / "screen").read_text() == "" and totals.matches == 42


def test_a_file_that_is_not_there_is_told(tidings: Tidings, tmp_path: Path) -> None:
    ran = tidings("run", "--config", tmp_path / "no.toml")
    assert ran.code == 1 and ran.err.startswith("tidings: cannot read")


@pytest.mark.slow
@pytest.mark.spark
def test_a_pipeline_runs_until_it_is_stopped_and_goes_on_later(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    registry.add(pa.table({"id": ["s1"], "query": ["topic:sports OR lang:es"]}))
    (tmp_path / "pipeline.toml").write_text(CONFIG)
    for number in range(2):
        oracle.write_posts(tmp_path / "posts", number)
    told = tmp_path / "told.jsonl"
    command = ["tidings", "run", "--config", str(tmp_path / "pipeline.toml"), "--progress", str(told)]
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    while process.poll() is None and (not told.exists() or len(told.read_text().splitlines()) < 2):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert f"{2 * oracle.ROWS} posts in 2 batches" in errors
    oracle.write_posts(tmp_path / "posts", 2)
    subprocess.run([*command, "--once"], check=True, env=environment)
    assert [json.loads(line)["report"]["batch"] for line in told.read_text().splitlines()] == [0, 1, 2]
    found = ds.dataset(tmp_path / "matches", partitioning="hive").to_table()
    expected = oracle.expected(tmp_path / "state", registry)
    assert oracle.rows_of(found) == sorted(row for rows in expected.values() for row in rows)
