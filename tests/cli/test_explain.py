from pathlib import Path

import pytest

from tests.cli.conftest import Tidings
from tidings.cli.typed import pointed


def test_a_post_is_typed_with_all_that_it_has(tidings: Tidings) -> None:
    box = "bounding_box:[150.5 -34.5 151.9 -33.2]"
    query = f"fire likes:>9 lang:es topic:news/* day:>=2024-01-01 ts:<2025-01-01 {box}"
    attributes = ("--attribute", "likes=10", "--attribute", "lang=es", "--attribute", "day=2024-03-01")
    place = ("--lat", "-33.9", "--lon", "151.2", "--topic", "news/local", "--ts", "2024-05-06T07:08:09Z")
    ran = tidings("explain", query, "Fire!", *attributes, *place)
    assert (ran.code, ran.err) == (0, "") and ran.out.startswith("matched: ")
    ran = tidings("explain", query, "Fire!", "--attribute", "likes=9", *attributes[2:], *place)
    assert ran.code == 0 and ran.out == "no match: likes:>9: likes is 9\n"


def test_the_text_may_be_left_out(tidings: Tidings) -> None:
    assert tidings("explain", "likes:10", "--attribute", "likes=1e1").out.startswith("matched: likes:10")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fire", "two", "texts"),
        ("fire", "x", "--attribute", "likes"),
        ("fire", "x", "--attribute", "=1"),
        ("fire", "x", "--ts", "yesterday"),
        ("fire", "x", "--id", "s1"),
        ("--folder", "alerts", "fire"),
    ],
)
def test_misuse_is_told(tidings: Tidings, arguments: tuple[str, ...]) -> None:
    ran = tidings("explain", *arguments)
    assert (ran.code, ran.out) == (2, "") and "Usage: tidings explain" in ran.err


def test_a_post_that_cannot_be_is_told_in_one_line(tidings: Tidings) -> None:
    ran = tidings("explain", "fire", "x", "--lat", "95", "--lon", "0")
    assert ran.code == 1 and ran.err == "tidings: publication 'post': its lat is between -90 and 90 degrees, got 95\n"
    assert "'ts' cannot name an attribute" in tidings("explain", "fire", "--attribute", "ts=1").err


def test_an_absent_subscription_is_told(tidings: Tidings, tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    assert tidings("explain", "--folder", folder, "--id", "s9", "x").err == f"tidings: there is no folder '{folder}'\n"
    tidings("subscribe", folder, "fire")
    assert tidings("explain", "--folder", folder, "--id", "s9", "x").err == "tidings: there is no subscription 's9'\n"


def test_the_mark_is_under_the_place(tidings: Tidings) -> None:
    query, mark, _ = tidings("explain", "likes:>many", "x").err.splitlines()
    assert query[mark.index("^") :] == "many"
    query, mark = pointed("火\t&& x", 3).splitlines()
    assert query == "  火 && x" and mark == "  " + " " * 3 + "^"  # a Han letter is two columns wide
    query, mark = pointed("a" * 500 + "&" + "b" * 500, 501).splitlines()
    assert len(query) < 100 and query[mark.index("^")] == "&"
    query, mark = pointed("fire OR", 8).splitlines()
    assert mark.index("^") == len(query)
