import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.conftest import Tidings
from tidings import Engine
from tidings.registry import Registry


def test_what_is_left_in_a_folder_is_matched_explained_and_given_up(
    tidings: Tidings, posts: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "alerts"
    left = tidings("subscribe", folder, "fire -drill", "--id", "s1", "--subscriber", "ada", "--tag", "t")
    assert (left.code, left.out, left.err) == (0, "s1\n", "")
    name = tidings("subscribe", folder, "likes:>=20").out.strip()
    lines = tidings("match", posts, folder, "--format", "json").out.splitlines()
    found = sorted((row["publication_id"], row["subscription_id"], row["subscriber"]) for row in map(json.loads, lines))
    assert found == [("p1", "s1", "ada"), ("p2", name, ""), ("p4", name, "")]
    assert tidings("explain", "--folder", folder, "--id", "s1", "A drill").out == "no match: fire: not found\n"
    ran = tidings("unsubscribe", folder, "s1", "s1", "s9")
    assert (ran.code, ran.out, ran.err) == (0, "1\n", "there is no subscription 's9'\n")
    assert tidings("match", posts, folder).out.splitlines()[-1] == "2 matches"


def test_who_subscribes_is_warned_of_what_is_doubtful(tidings: Tidings, tmp_path: Path) -> None:
    ran = tidings("subscribe", tmp_path / "alerts", "fire lang:en lat:>5 lat:<3", "--id", "s1")
    assert (ran.code, ran.out) == (0, "s1\n")
    habit, never = ran.err.splitlines()
    assert habit.startswith("warning: 1 query asks for lang:") and "no publication can answer it" in never
    assert tidings("subscribe", tmp_path / "alerts", "fire").err == ""


def test_a_subscription_is_valid_for_its_time(tidings: Tidings, tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    tidings("subscribe", folder, "fire", "--id", "s1", "--since", "2024-01-01", "--until", "2024-02-01T00:00:00Z")
    asking = ("explain", "--folder", folder, "--id", "s1", "fire", "--ts")
    assert tidings(*asking, "2024-01-31T23:59:59Z").out == 'matched: fire: "fire"\n'
    assert tidings(*asking, "2024-02-01").out.startswith("no match: valid from 2024-01-01")
    ran = tidings("subscribe", folder, "fire", "--since", "2024-01-02", "--until", "2024-01-01")
    assert ran.code == 1 and ran.err == "tidings: it ends at 2024-01-01, not after it begins at 2024-01-02\n"
    assert tidings("subscribe", folder, "fire", "--until", "soon").code == 2


def test_a_file_is_taken_but_for_its_bad_rows(tidings: Tidings, asked: Path, tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    tried = tidings("subscribe", folder, "--file", asked, "--dry-run")
    assert (tried.code, tried.out) == (0, "2 would be accepted, 1 rejected\n") and not folder.exists()
    ran = tidings("subscribe", folder, "--file", asked)
    assert (ran.code, ran.out) == (0, "2 accepted, 1 rejected\n")
    assert "'s2': query, column 8:" in ran.err and ran.err == tried.err
    with Engine(folder) as engine:
        assert len(engine) == 2 and "s1" in engine and "s3" in engine


def test_a_file_of_bad_rows_alone_is_a_failure(tidings: Tidings, tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text('{"id": "s1", "query": "fire OR"}\n')
    ran = tidings("subscribe", tmp_path / "alerts", "--file", tmp_path / "asked.jsonl")
    assert (ran.code, ran.out) == (1, "0 accepted, 1 rejected\n")
    assert "can be used" in ran.err.splitlines()[-1]


def test_a_bad_query_is_shown_with_its_place_and_leaves_nothing(tidings: Tidings, tmp_path: Path) -> None:
    ran = tidings("subscribe", tmp_path / "alerts", "fire && smoke")
    assert (ran.code, ran.out) == (1, "") and not (tmp_path / "alerts").exists()
    query, mark, error = ran.err.splitlines()
    assert query == "  fire && smoke" and mark == "       ^" and error.startswith("tidings: query, column 6: ")


@pytest.mark.parametrize(
    "arguments",
    [(), ("fire", "--file", "x.csv"), ("--file", "x.csv", "--tag", "t"), ("fire", "--dry-run")],
)
def test_a_query_or_a_file_is_named(tidings: Tidings, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert tidings("subscribe", tmp_path / "alerts", *arguments).code == 2
    assert not (tmp_path / "alerts").exists()


def test_a_folder_that_is_none_of_ours_is_left_alone(tidings: Tidings, posts: Path) -> None:
    for command in (("subscribe", posts.parent, "fire"), ("unsubscribe", posts.parent, "s1")):
        ran = tidings(*command)
        assert ran.code == 1 and "is no registry, it holds 'posts.parquet'" in ran.err and ran.err.count("\n") == 1
    assert [path.name for path in posts.parent.iterdir()] == ["posts.parquet"]
    absent = posts.parent / "absent"
    assert tidings("unsubscribe", absent, "s1").err == f"tidings: there is no folder '{absent}'\n"
    assert not absent.exists()


def test_a_folder_is_tidied_and_what_lives_stays(tidings: Tidings, tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    registry = Registry(folder)
    for number in range(6):
        registry.add(pa.table({"id": ["s1"], "query": [f"fire {number}"]}))
    ran = tidings("tidy", folder)
    assert ran.code == 0 and ran.out.startswith("6 files merged, 0 rows dropped, 0 files deleted; 0.0 MB before")
    ran = tidings("tidy", folder, "--keep-versions", "0")
    assert ran.code == 0 and ran.out.startswith("1 files merged, 5 rows dropped")
    assert registry.snapshot().select(["query", "query_version"]).to_pylist() == [
        {"query": "fire 5", "query_version": 6}
    ]
    for misuse, problem in {tmp_path / "none": "nobody has subscribed", tmp_path / "file": "is a file"}.items():
        (tmp_path / "file").touch()
        ran = tidings("tidy", misuse)
        assert ran.code == 1 and problem in ran.err and len(ran.err.splitlines()) == 1
    assert not (tmp_path / "none").exists()


def test_a_new_folder_takes_the_kinds_of_its_fields(tidings: Tidings, tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    ran = tidings("subscribe", folder, 'title:"white house"~2', "--id", "s1", "--field", "title=text")
    assert (ran.code, ran.out) == (0, "s1\n")
    assert tidings("subscribe", folder, "title:(white house)").code == 0
    ran = tidings("subscribe", folder, "title:fire", "--field", "title=folded")
    assert ran.code == 1 and "would mean something else" in ran.err


def test_a_folder_of_sigma_rules_is_taken_but_for_what_cannot_be_said(tidings: Tidings, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    selection = "logsource: {product: windows}\ndetection: {s: {Image|endswith: cmd.exe}, condition: s}\n"
    (rules / "a.yml").write_text(f"title: A\nid: 11111111-1111-1111-1111-111111111111\n{selection}")
    (rules / "b.yml").write_text("title: B\nlogsource: {product: x}\ndetection: {s: [fire], condition: s}\n")
    ran = tidings("subscribe", tmp_path / "alerts", "--sigma", rules)
    assert ran.code == 0 and ran.out == "1 accepted, 1 rejected\n" and "keywords" in ran.err
    assert tidings("subscribe", tmp_path / "alerts", "fire", "--sigma", rules).code == 2


def test_a_subscription_gets_the_posts_that_the_folder_keeps(tidings: Tidings, tmp_path: Path) -> None:
    folder, posts = tmp_path / "alerts", tmp_path / "posts.jsonl"
    posts.write_text("".join(json.dumps({"id": f"p{n}", "text": "fire"}) + "\n" for n in range(3)))
    tidings("subscribe", folder, "smoke", "--id", "s1")
    assert tidings("subscribe", folder, "fire", "--id", "s2", "--since", "-1h").err == ""  # nothing is kept yet
    tidings("unsubscribe", folder, "s2")
    assert tidings("match", posts, folder, "--keep", "7d").out.splitlines()[-1] == "0 matches"
    ran = tidings("subscribe", folder, "fire", "--id", "s3", "--since", "-1h")
    assert ran.out.split() == ["s3", "p2", "p1", "p0"]
    assert ran.err == "3 posts of the past; not all since then were kept\n"
    tidings("match", posts, folder)  # without --keep
    assert tidings("subscribe", folder, "fire", "--id", "s4", "--since", "-0s").out == "s4\n"
    assert tidings("subscribe", folder, "fire", "--since", "-1y").code == 2
    assert tidings("match", posts, posts, "--keep", "7d").code == 2
    assert tidings("match", posts, folder, "--keep", "soon").code == 2
