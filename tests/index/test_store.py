"""Does an index come back from its files as it was, and do old files still open?"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.index.strategies import NOW, subscriptions, tables
from tidings.analysis import ENGLISH
from tidings.arrays.pages import checked, read_page, replace_json
from tidings.index.guard import GuardIndex
from tidings.index.store import Store, described
from tidings.language import parse, parse_normal
from tidings.model import DataError, Subscription

GOLDEN = Path(__file__).parent / "golden" / "index-4"
"""An index of format 4, written by :func:`write_golden`; whatever the code becomes, it opens and answers as it did."""

QUERIES = {
    "words": "white house",
    "not": "fire -drill",
    "or": "(fire OR smoke) symbol:YHOO",
    "phrase": '"white house"',
    "near": '"house fire"~3',
    "prefix": "hous*",
    "piece": "symbol:YH*",
    "present": "has:volume",
    "range": "volume:>300000",
    "date": "ts:[2020-01-01 TO 2020-02-01]",
    "box": "bounding_box:[150.5 -34.2 151.4 -33.4]",
    "circle": "point_radius:[151.2 -33.9 16km]",
    "polygon": "polygon:((151 -34, 152 -34, 151 -33))",
    "topic": "topic:sports/soccer",
    "pattern": "topic:sports/*/final",
    "removed": "fire",
    "tag": "#fire OR @nswrfs",
    "formula": " ".join(f"(house OR x{i})" for i in range(12)),
    "late": "rain volume:[1 TO 5]",
}
POSTS = pa.table(
    {
        "id": ["a", "b", "c"],
        "text": ["The White House is on fire", "smoke, no house @NSWRFS", "drill: fire! rain"],
        "symbol": ["YHOO", "YHOO", "GOOG"],
        "volume": [400_000.0, None, 3.0],
        "lat": [-33.87, -33.0, None],
        "lon": [151.21, 151.0, None],
        "topic": ["sports/soccer/final", "sports/tennis/final", None],
        "ts": pa.array([NOW, None, None], pa.timestamp("us", tz="UTC")),
    }
)
ANSWERS = {
    "a": {"words", "not", "or", "phrase", "near", "prefix", "piece", "present", "range", "date", "box", "circle",
          "polygon",
          "topic", "pattern", "formula"},
    "b": {"polygon", "or", "tag", "formula", "prefix", "piece", "pattern"},
    "c": {"late", "present"},
}  # fmt: skip


def store(path: Path) -> Store:
    return Store(path, "english")


def write_golden() -> None:
    """Run ``python -m tests.index.test_store`` for a new format, in a new folder."""
    shutil.rmtree(GOLDEN, ignore_errors=True)
    index = GuardIndex(clock=lambda: NOW)
    early = [name for name in QUERIES if name != "late"]
    index.add(Subscription(name, parse(QUERIES[name]), f"of {name}", version=7) for name in early)
    index.save(store(GOLDEN), index.unsaved(), 7)
    index.remove(["removed"])
    index.add([Subscription("late", parse(QUERIES["late"]), version=8)])
    index.save(store(GOLDEN), index.unsaved(), 8)


def opened(path: Path) -> tuple[GuardIndex, int]:
    found = GuardIndex.opened(store(path), ENGLISH, None, lambda: NOW)
    assert found is not None
    return found[:2]


def answers(index: GuardIndex) -> dict[str, set[str]]:
    pairs = [(match.publication_id, match.subscription_id) for match in index.match(POSTS)]
    return {post: {name for own, name in pairs if own == post} for post in ANSWERS}


@pytest.mark.thorough
def test_a_new_process_that_opens_an_index_of_words_loads_no_compiled_code(tmp_path: Path) -> None:
    """It takes longer than all the rest: numba begins by loading all that it knows."""
    index = GuardIndex(clock=lambda: NOW)
    index.add([Subscription("a", parse("white house")), Subscription("b", parse("fire -drill"))])
    index.save(store(tmp_path), index.unsaved(), 1)
    code = """
import sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from tests.index.test_store import opened
index, _ = opened(Path(sys.argv[1]))
kernels = {name: value for module in list(sys.modules.values()) for name, value in vars(module).items()
           if isinstance(value, Dispatcher) and module.__name__.startswith("tidings")}
print(len(index), len(kernels) > 20, [name for name, kernel in kernels.items() if kernel.overloads])
"""
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "2 True []"


def test_what_is_compiled_again_means_what_the_golden_index_means() -> None:
    """Where it does not, FORMAT has to be raised, or a query would mean something else once it is compiled again."""
    index = GuardIndex(clock=lambda: NOW)
    for name in QUERIES.keys() - {"removed"}:
        index.add([Subscription(name, parse_normal(QUERIES[name])[0])])
    assert answers(index) == ANSWERS


def test_the_golden_index_opens_and_answers() -> None:
    index, version = opened(GOLDEN)
    assert version == 8 and len(index) == len(QUERIES) - 1 and index.segment_count == 2
    assert answers(index) == ANSWERS
    record = index.record("words")
    assert record is not None and (record.query, record.subscriber, record.query_version) == (
        "white house",
        "of words",
        7,
    )
    index.compact()
    assert answers(index) == ANSWERS and index.segment_count == 1


def test_an_opened_index_goes_on(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "index")
    index, _ = opened(tmp_path / "index")
    index.add([Subscription("new", parse("fire OR zebra symbol:GOOG bounding_box:[150.5 -34.2 151.4 -33.4]"))])
    index.remove(["range", "or"])
    index.save(store(tmp_path / "index"), index.unsaved(), 9)
    again, version = opened(tmp_path / "index")
    expected = {post: names - {"range", "or"} | ({"new"} if post != "b" else set()) for post, names in ANSWERS.items()}
    assert version == 9 and answers(again) == answers(index) == expected
    again.compact()
    again.save(store(tmp_path / "index"), again.unsaved(), 9)
    assert len(list((tmp_path / "index").glob("segment-*"))) == 1
    assert answers(opened(tmp_path / "index")[0]) == expected


@examples(60)
@given(data=st.data())
def test_what_is_saved_comes_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("index")
    index = GuardIndex(clock=lambda: NOW)
    for version in range(data.draw(st.integers(1, 4))):
        index.add(data.draw(subscriptions(name)) for name in data.draw(st.lists(st.sampled_from("abcdef"), max_size=4)))
        index.remove(data.draw(st.lists(st.sampled_from("abcdef"), max_size=2)))
        if data.draw(st.booleans()):
            index.compact()
        index.save(store(path), index.unsaved(), version)
        again, found = opened(path)
        table = data.draw(tables())
        assert found == version and len(again) == len(index)
        assert again.match(table).pairs() == index.match(table).pairs()
        if data.draw(st.booleans()):
            index = again


def test_a_file_that_is_no_segment_is_told_by_name(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "index")
    segment = min((tmp_path / "index").glob("segment-*"))
    shutil.copy(GOLDEN.parents[2] / "arrays" / "golden" / "arrays-1.tidings", segment)
    with pytest.raises(DataError, match=f"{segment.name}: not a segment"):
        opened(tmp_path / "index")
    with pytest.raises(DataError, match="another format or for another analyser"):
        Store(GOLDEN, "klingon").read()
    manifest = tmp_path / "index" / "manifest.json"
    replace_json(manifest, checked(read_page(manifest) | {"format": 2}))
    with pytest.raises(DataError, match="another format or for another analyser"):
        opened(tmp_path / "index")


def test_an_index_of_words_that_were_folded_otherwise_is_not_used(tmp_path: Path) -> None:
    """Format 1 described its analyser without the version of folding."""
    index = GuardIndex(clock=lambda: NOW)
    index.add([Subscription("s", parse("fire"))])
    index.save(
        Store(tmp_path, repr((ENGLISH.language, ENGLISH.stemming, sorted(ENGLISH.stop_words or ())))),
        index.unsaved(),
        1,
    )
    with pytest.raises(DataError, match="for another analyser"):
        Store(tmp_path, described(ENGLISH)).read()


def test_mapped_arrays_are_not_copied() -> None:
    index, _ = opened(GOLDEN)
    table = index.snapshot.state.segments[0].tables[0]
    assert not table.firsts.flags.owndata and not np.shares_memory(table.firsts, table.stream)


if __name__ == "__main__":
    write_golden()
