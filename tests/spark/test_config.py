"""Is a pipeline.toml read as it is meant, and is what is wrong with it told?"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tidings.cluster.delta import DeltaSink
from tidings.cluster.following import Balance
from tidings.cluster.learning import Learn
from tidings.cluster.overload import Overload
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import ParquetSink
from tidings.model import DataError
from tidings.placement import PlacementPolicy
from tidings.spark.columns import Columns
from tidings.spark.config import Config, Trigger
from tidings.spark.sinks import ConsoleSink, KafkaSink

LEAST = """
registry = "alerts"
checkpoint = "state"
[source]
format = "files"
path = "posts"
[sink]
format = "parquet"
path = "matches"
"""


def read(folder: Path, text: str) -> Config:
    file = folder / "pipeline.toml"
    file.write_text(text)
    return Config.read(file)


def test_the_least_that_a_file_says_is_enough(tmp_path: Path) -> None:
    config = read(tmp_path, LEAST)
    assert config == Config(
        tmp_path / "alerts",
        tmp_path / "state",
        {"format": "files", "path": tmp_path / "posts"},
        ParquetSink(tmp_path / "matches"),
    )


def test_all_that_a_file_can_say_is_read(tmp_path: Path) -> None:
    more = """
[trigger]
every_s = 2
[index]
layout = "partitioned"
matchers = 4
[learn]
partitioner = "salb"
every_s = 60
[placement]
placer = "lasp"
intercept = 20
[balance]
uneven = 2
select = "si"
scope = "global"
check_s = 60
[overload]
policy = "random"
delay_s = 3
[columns]
id = "tweet_id"
[spark]
"spark.master" = "local[1]"
"""
    config = read(tmp_path, LEAST + more)
    assert config.trigger == Trigger(every_s=2)
    assert config.plan == Plan("partitioned", 4)
    assert config.learn == Learn("salb", every_s=60)
    assert config.placement == PlacementPolicy("lasp", intercept=20)
    assert (
        config.balance == Balance(uneven=2, select="si", scope="global", check_s=60)
        and read(tmp_path, LEAST).balance is None
    )
    assert config.overload == Overload("random", delay_s=3)
    assert read(tmp_path, LEAST).overload is None and read(tmp_path, LEAST + "\n[overload]\n").overload == Overload()
    assert config.columns == Columns(id="tweet_id")
    assert config.spark == {"spark.master": "local[1]"}


def test_keep_is_a_length_of_time(tmp_path: Path) -> None:
    for text, span in (
        ("90s", timedelta(seconds=90)),
        ("24h", timedelta(days=1)),
        ("30m", timedelta(minutes=30)),
        ("7d", timedelta(days=7)),
    ):
        assert read(tmp_path, f'keep = "{text}"\n{LEAST}').keep == span
    assert read(tmp_path, LEAST).keep is None


def test_each_sink_can_be_named(tmp_path: Path) -> None:
    parquet = 'format = "parquet"\npath = "matches"'
    for text, sink in (
        ('format = "delta"\npath = "m"', DeltaSink(tmp_path / "m")),
        ('format = "kafka"\nservers = "a:1"\ntopic = "t"', KafkaSink("a:1", "t")),
        ('format = "console"', ConsoleSink()),
        ('format = "console"\nshown = 3', ConsoleSink(3)),
    ):
        assert read(tmp_path, LEAST.replace(parquet, text)).sink == sink


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('registry = "alerts"', "", "the file lacks 'registry'"),
        ('registry = "alerts"', "registry = 3", "registry is the name of a folder, got 3"),
        ('registry = "alerts"', 'registri = "alerts"', "the file has 'registri', which is none of balance, checkpoint"),
        ('registry = "alerts"', 'registry = "alerts', "cannot read"),
        ('path = "posts"', "", r"\[source\] of format 'files' lacks 'path'"),
        ('path = "posts"', 'path = "posts"\nfolder = "x"', "has 'folder', which is none of files_per_batch"),
        ('path = "posts"', 'path = "posts"\nfiles_per_batch = 0', "files_per_batch is a whole number of 1 or more, or"),
        ('path = "posts"', 'path = "posts"\nfiles_per_batch = "3"', "files_per_batch is a whole number of 1 or more"),
        ('format = "files"', "format = 3", r"\[source\] format is files, kafka or the name of a Spark source, got 3"),
        ('format = "parquet"', 'format = "paper"', r"\[sink\] format is one of parquet, .* got 'paper'"),
        ('path = "matches"', 'path = "matches"\nshown = 3', "has 'shown', which is none of format, path"),
        ('path = "matches"', 'path = "matches"\n[trigger]\nevery = 3', "has 'every', which is none of available_now"),
        (
            'path = "matches"',
            'path = "matches"\n[trigger]\nevery_s = "3"',
            "every_s is expected to be a float, got '3'",
        ),
        (
            'path = "matches"',
            'path = "matches"\n[index]\nlayout = "best"',
            "a layout is auto, replicated or partitioned",
        ),
        (
            'path = "matches"',
            'path = "matches"\n[learn]\npartitioner = "best"',
            "salb, hash, gc, .* got 'best'",
        ),
        ('path = "matches"', 'path = "matches"\n[placement]\nplacer = "near"', "rarest, random, lasp, got 'near'"),
        (
            'path = "matches"',
            'path = "matches"\n[placement]\nseeds = 3',
            r"\[placement\] has 'seeds', which is none",
        ),
        (
            'path = "matches"',
            'path = "matches"\n[overload]\nlevel = 3',
            r"\[overload\] has 'level', which is none of control, delay_s",
        ),
        ('path = "matches"', 'path = "matches"\n[overload]\npolicy = "best"', "no shedding policy 'best'"),
        ('path = "matches"', 'path = "matches"\n[balance]\nselect = "best"', "choose dp, gr, si or ra"),
        ('registry = "alerts"', 'registry = "alerts"\nkeep = "a day"', "such as .*7d.*, got 'a day'"),
        ('registry = "alerts"', 'registry = "alerts"\nkeep = 3600', "keep is a length of time .* got 3600"),
        ('registry = "alerts"', 'registry = "alerts"\nkeep = "0h"', "keep is a length of time .* got '0h'"),
        ('path = "matches"', 'path = "matches"\n[balance]\nscope = "here"', "a scope is one of local, global, padres"),
    ],
)
def test_what_is_wrong_is_told(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=complaint):
        read(tmp_path, LEAST.replace(old, new, 1))


def test_the_kinds_of_fields_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, LEAST + '[fields]\ntitle = "text"\n"*" = "folded"\n').fields.kind("user") == "folded"
    with pytest.raises(DataError, match=r"\[fields\] the kind of the field 'title' is one of exact, folded, text"):
        read(tmp_path, LEAST + '[fields]\ntitle = "words"\n')
