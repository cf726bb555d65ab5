"""Does ``tidings learn`` tell how good a mapping is, and give it to the pipeline?"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tidings
from tidings.analysis import Analyser
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan, Releases
from tidings.cluster.seen import Seen
from tidings.registry import Registry
from tidings.workloads import Posts, tweet_based


@pytest.fixture
def home(tmp_path: Path) -> PipelineFolder:
    home, registry = PipelineFolder(tmp_path / "state"), Registry(tmp_path / "registry")
    posts = Posts(seed=3, vocabulary=2_200, words=(4, 9)).table(2_000)
    registry.add(tweet_based(posts["text"], 500, 1, Analyser(), words=(1, 2)))
    Releases(home.releases, plan=Plan("partitioned", 8), mappings=home.mappings).release(registry, 1)
    Seen(home.seen).put([posts], 0)
    return home


def test_what_is_learned_is_told_and_put(tidings: Tidings, home: PipelineFolder) -> None:
    ran = tidings("learn", home.path, "--partitioner", "salb", "--format", "json")
    page = json.loads(ran.out)
    assert ran.code == 0 and (page["name"], page["matchers"], page["posts"]) == ("learned-1", 8, 1_600)
    assert page["after"]["throughput"] > page["before"]["throughput"] > 1
    assert home.mappings.newest(8) == "learned-1"
    ran = tidings("learn", home.path, "--matchers", 5, "--split", home.path.parent / "registry", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [row["figure"] for row in rows] == ["spread", "imbalance", "throughput"]
    mapping = home.mappings.mapping(home.mappings.newest(8))
    assert mapping is not None and mapping.matchers == 5


@pytest.mark.parametrize("name", ["hash", "gfcl"])
def test_any_partitioner_can_be_named(tidings: Tidings, home: PipelineFolder, name: str) -> None:
    if name == "gfcl":
        pytest.importorskip("pymetis")
    ran = tidings("learn", home.path, "--partitioner", name, "--format", "json")
    assert ran.code == 0 and json.loads(ran.out)["partitioner"] == name
    assert home.mappings.newest(8) == "learned-1"


def test_a_partitioner_that_is_unknown_or_not_installed_is_told(
    tidings: Tidings, home: PipelineFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tidings("learn", home.path, "--partitioner", "best")
    assert ran.code == 2 and "gnfcl" in ran.err
    monkeypatch.setitem(sys.modules, "pymetis", None)
    ran = tidings("learn", home.path, "--partitioner", "gfcl")
    assert ran.code == 1 and 'pip install "tidings[metis]"' in ran.err.replace("\n", " ")
    assert home.mappings.newest(8) == "hash-8"


def test_a_dry_run_puts_nothing(tidings: Tidings, home: PipelineFolder) -> None:
    ran = tidings("learn", home.path, "--dry-run")
    assert ran.code == 0 and "dry run: 8 matchers, by refined from 1,600 posts" in ran.out
    assert all(name in ran.out for name in ("spread", "imbalance", "throughput"))
    assert home.mappings.newest(8) == "hash-8"


def test_a_folder_of_no_pipeline_is_told(tidings: Tidings, tmp_path: Path) -> None:
    ran = tidings("learn", tmp_path / "nothing")
    assert ran.code == 1 and "divided between matchers" in ran.err


def test_a_registry_that_is_not_there_is_told(tidings: Tidings, home: PipelineFolder, tmp_path: Path) -> None:
    ran = tidings("learn", home.path, "--split", tmp_path / "missing")
    assert ran.code == 1 and f"there is no registry at '{tmp_path / 'missing'}'" in ran.err
