"""Does the demo find what brute force finds, see changes, clean up, and end when it is told to?"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.conftest import Tidings
from tidings.cli.demo import subscriptions
from tidings.cli.screen import Screen, Verified, check
from tidings.cli.tour import QUERIES
from tidings.cluster.journal import Report
from tidings.index import GuardIndex
from tidings.language import parse
from tidings.model import Subscription
from tidings.registry import Registry
from tidings.workloads import Posts

COMMAND = [sys.executable, "-c", "from tidings.cli.main import main; main()", "demo"]
POSTS = Posts(seed=3)


@pytest.mark.parametrize("count", [1, 7, 400])
def test_there_are_as_many_subscriptions_as_wanted_and_all_can_be_registered(count: int, tmp_path: Path) -> None:
    asked = subscriptions(POSTS.table(1000), count, seed=3)
    receipt = Registry(tmp_path).add(asked)
    assert receipt.accepted == len(set(asked["id"].to_pylist())) == count + len(QUERIES)


def test_a_match_that_is_lost_or_doubled_or_of_another_version_is_found(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    first = registry.add(subscriptions(POSTS.table(1000), 200, seed=3)).version
    second = registry.remove(["ann"]).version
    screen = Screen(Console(quiet=True), POSTS, {}, set(), every=3)
    reports, start = [], 0
    for batch, (version, rows) in enumerate([(first, 100), (first, 1), (second, 250)]):
        table = POSTS.table(rows, start)
        index = GuardIndex()
        asked = registry.snapshot(version).to_pylist()
        index.add(Subscription(row["id"], parse(row["query"])) for row in asked)
        found = ((start + row, name) for row, name in index.match(table).pairs())
        screen.kept[batch] = [(f"p{row}", name) for row, name in found if row % 3 == 0]
        reports.append(Report(batch, version, rows, 0, 0, 1.0))
        start += rows
    matches = sum(map(len, screen.kept.values()))
    assert check(reports, screen, registry) == Verified(117, matches, 0)
    of_ann = Counter(name for batch in (0, 1) for _, name in screen.kept[batch])["ann"]
    other_version = [Report(report.batch, second, report.posts, 0, 0, 1.0) for report in reports]
    assert check(other_version, screen, registry).wrong == of_ann > 0
    screen.kept[2].append(screen.kept[2][0])
    screen.kept[0].pop()
    assert check(reports, screen, registry).wrong == 2


def test_a_java_that_is_missing_is_told_in_one_line(
    tidings: Tidings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = tidings("demo")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "No Java was found" in ran.err and ran.err.endswith("tidings doctor says what to do\n")


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files; its path is short, because a socket's has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="t") as folder:
        yield Path(folder)


@pytest.fixture
def environment(temporary: Path) -> dict[str, str]:
    options = f"-Djava.io.tmpdir={temporary} -XX:-UsePerfData"
    return os.environ | {"TMPDIR": str(temporary), "JDK_JAVA_OPTIONS": options, "COLUMNS": "200"}


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo_sees_the_change_equals_brute_force_and_leaves_its_picture_alone(
    tmp_path: Path, temporary: Path, environment: dict[str, str]
) -> None:
    options = ["--seconds", "4", "--rate", "500", "--subscriptions", "300", "--plot", str(tmp_path / "demo.svg")]
    ran = subprocess.run(
        [*COMMAND, *options], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "checked: equal" in ran.stdout and ran.stderr == ""
    assert re.search(r"at full speed: [\d,]+ posts a second", ran.stdout)
    comes, leaves = (
        re.search(rf"{name}: ([\d,]+) matches before batch \d+, (\d+) since", ran.stdout) for name in ("zoe", "ann")
    )
    assert comes and leaves
    assert comes[1] == "0" != comes[2] and leaves[1] != "0" == leaves[2]
    assert (tmp_path / "demo.svg").read_text().startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.svg"]
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.spark
def test_ctrl_c_ends_it_with_the_summary_so_far(tmp_path: Path, temporary: Path, environment: dict[str, str]) -> None:
    options = ["--seconds", "600", "--rate", "500", "--subscriptions", "300", "--plot", str(tmp_path / "demo.png")]
    process = subprocess.Popen(
        [*COMMAND, *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    shown = [process.stdout.readline() for _ in range(5)]  # a line before Spark starts, then three of each batch
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to Java and its workers too
    rest, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "checked: equal" in rest, shown
    assert list(temporary.iterdir()) == []
