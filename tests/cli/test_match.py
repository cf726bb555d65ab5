import csv
import json
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Tidings
from tests.nested import ASKED, EVENTS, expected
from tidings import Engine
from tidings.cli import files, flow
from tidings.cli.files import TableFile
from tidings.cli.output import progress
from tidings.tables import csv_files
from tidings.tables.matches import Matches
from tidings.workloads import Posts

FOUND = [("p1", "s1"), ("p2", "s3"), ("p4", "s3")]


def pairs(rows: list[dict[str, str]]) -> list[tuple[str, str]]:
    return sorted((row["publication_id"], row["subscription_id"]) for row in rows)


def test_a_file_gets_all_matches_and_stderr_the_counts(
    tidings: Tidings, posts: Path, asked: Path, tmp_path: Path
) -> None:
    output = tmp_path / "deep" / "found.parquet"
    ran = tidings("match", posts, asked, "--output", output)
    assert (ran.code, ran.out) == (0, "")
    assert pairs(pq.read_table(output).to_pylist()) == FOUND
    assert [path.name for path in output.parent.iterdir()] == ["found.parquet"]
    told = ran.err.splitlines()
    assert told[:2] == [
        "rejected 1 of 3 subscriptions:",
        "  's2': query, column 8: the query ends where a word was expected",
    ]
    assert told[2] == "rejected 1 of 5 posts:" and told[3].startswith("  row 2: publication 'p3': its lat")
    assert told[4].startswith("5 posts, 2 subscriptions, 3 matches, ") and told[4].endswith(" posts/s")
    assert len(told) == 5


def test_json_is_one_object_a_line_and_csv_has_a_header(tidings: Tidings, posts: Path, asked: Path) -> None:
    lines = tidings("match", posts, asked, "--format", "json").out.splitlines()
    assert pairs([json.loads(line) for line in lines]) == FOUND
    rows = list(csv.DictReader(tidings("match", posts, asked, "--format", "csv").out.splitlines()))
    assert pairs(rows) == FOUND and {row["tag"] for row in rows if row["subscription_id"] == "s1"} == {"a"}
    assert tidings("match", posts, asked, "--format", "csv", "--limit", "1").out.count("\n") == 2


def test_a_table_shows_the_first_and_counts_all(tidings: Tidings, posts: Path, asked: Path) -> None:
    shown = tidings("match", posts, asked, "--limit", "1").out.splitlines()
    assert shown[-1] == "3 matches, the first 1 shown" and len(shown) == 3
    assert tidings("match", posts, asked).out.splitlines()[-1] == "3 matches"


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".ndjson", ".arrow", ".feather"])
def test_every_kind_of_file_gives_the_same_matches(
    tidings: Tidings, posts: Path, asked: Path, tmp_path: Path, ending: str
) -> None:
    other_posts, other_asked = tmp_path / f"posts{ending}", tmp_path / f"asked{ending}"
    write(pq.read_table(posts), other_posts)
    write(pq.read_table(asked), other_asked)
    ran = tidings("match", other_posts, other_asked, "--format", "json")
    assert pairs([json.loads(line) for line in ran.out.splitlines()]) == FOUND
    assert "rejected 1 of 5 posts" in ran.err and "rejected 1 of 3 subscriptions" in ran.err


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".csv":
        with path.open("w") as file:
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            writer.writerows(row.values() for row in table.to_pylist())
    elif path.suffix in (".jsonl", ".ndjson"):
        rows = ({name: value for name, value in row.items() if value is not None} for row in table.to_pylist())
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        new = pa.ipc.new_file if path.suffix == ".feather" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as sink, new(sink, table.schema) as writer:
            writer.write_table(table)


def test_pieces_and_parts_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Posts(seed=3).table(500)
    pq.write_table(table, tmp_path / "posts.parquet", row_group_size=130)
    engine = Engine(expire_after=None)
    engine.subscribe_many(pa.table({"id": ["a", "b", "c"], "query": ["has:likes", "likes:>=0", "fire OR smoke"]}))
    monkeypatch.setattr(files, "PIECE_ROWS", 70)
    monkeypatch.setattr(flow, "MOST_MATCHES", 60)
    found: list[Matches] = []
    steps: list[int] = []
    tally = flow.flow(engine, TableFile(tmp_path / "posts.parquet"), found.append, steps.append)
    assert [match for matches in found for match in matches] == engine.match(table)
    assert (tally.posts, sum(steps), tally.sifter.rejected) == (500, 500, 0)
    assert max(map(len, found[2:])) <= 2 * 60


def test_without_ids_the_numbers_of_the_rows_serve(tidings: Tidings, tmp_path: Path, asked: Path) -> None:
    pq.write_table(pa.table({"text": ["rain", "fire", "fire drill", "fire"]}), tmp_path / "posts.parquet")
    ran = tidings("match", tmp_path / "posts.parquet", asked, "--format", "json")
    assert pairs([json.loads(line) for line in ran.out.splitlines()]) == [("1", "s1"), ("3", "s1")]
    assert "posts.parquet has no column 'id': the numbers of its rows, from 0, serve as ids" in ran.err


def test_many_reasons_are_cut_short(tidings: Tidings, tmp_path: Path, asked: Path) -> None:
    rows = 40
    table = pa.table({"id": [str(n) for n in range(rows)], "lat": [91.0] * rows, "lon": [0.0] * rows})
    pq.write_table(table, tmp_path / "posts.parquet")
    ran = tidings("match", tmp_path / "posts.parquet", asked)
    assert ran.code == 0 and ran.out == "0 matches\n"
    assert "rejected 40 of 40 posts" in ran.err and ran.err.count("its lat") == 5 and "and 35 more" in ran.err


def test_only_bad_subscriptions_is_a_failure(tidings: Tidings, posts: Path, tmp_path: Path) -> None:
    (tmp_path / "asked.csv").write_text("id,query\ns1,fire OR\n")
    ran = tidings("match", posts, tmp_path / "asked.csv")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == f"tidings: no subscription of '{tmp_path / 'asked.csv'}' can be used"


def test_text_stays_text_in_files_that_do_not_say_so(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text("id,text,likes,lang\n007,2020,5,\n08,2021,6,es\n")
    (tmp_path / "posts.jsonl").write_text('{"id": "2020-01-01", "likes": 5}\n\n{"id": "2020-01-02", "text": "x"}\n')
    assert TableFile(tmp_path / "posts.csv").read().to_pylist() == [
        {"id": "007", "text": "2020", "likes": 5, "lang": None},
        {"id": "08", "text": "2021", "likes": 6, "lang": "es"},
    ]
    assert TableFile(tmp_path / "posts.jsonl").read()["id"].to_pylist() == ["2020-01-01", "2020-01-02"]


def test_codes_stay_text_in_csv_and_json(tidings: Tidings, tmp_path: Path) -> None:
    rows = [{"id": "a", "zip": "01234", "n": 7, "day": "2024-01-31"}, {"id": "b", "zip": "90210", "n": 8, "day": "x"}]
    write(pa.Table.from_pylist(rows), tmp_path / "posts.csv")
    write(pa.Table.from_pylist(rows), tmp_path / "posts.jsonl")
    asked = pa.table({"id": list("12345"), "query": ["zip:01234", "zip:1234", "n:>7", "zip:>1", "day:2024-01-31"]})
    pq.write_table(asked, tmp_path / "asked.parquet")
    for name in ("posts.csv", "posts.jsonl"):
        ran = tidings("match", tmp_path / name, tmp_path / "asked.parquet", "--format", "json")
        found = pairs([json.loads(line) for line in ran.out.splitlines()])
        assert found == [("a", "1"), ("a", "5"), ("b", "3")], name


def test_text_of_json_is_text_whatever_it_looks_like(tmp_path: Path) -> None:
    event = {"id": "a", "ts": "2024-01-31", "day": "2024-01-31", "of": {"days": [{"day": "2024-01-31T10:00:00"}]}}
    (tmp_path / "posts.jsonl").write_text(json.dumps(event) + "\n")
    [row] = TableFile(tmp_path / "posts.jsonl").read().to_pylist()
    assert row == event | {"ts": datetime(2024, 1, 31)}


def test_nested_events_match_as_a_plain_evaluation_says(tidings: Tidings, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    pq.write_table(pa.Table.from_pylist(EVENTS), tmp_path / "events.parquet")
    pq.write_table(ASKED, tmp_path / "asked.parquet")
    for name in ("events.jsonl", "events.parquet"):
        ran = tidings("match", tmp_path / name, tmp_path / "asked.parquet", "--format", "json")
        assert sorted(pairs([json.loads(line) for line in ran.out.splitlines()])) == expected(), name


def test_equal_ids_and_columns_that_are_no_attributes_are_told(
    tidings: Tidings, asked: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = pa.table({"id": ["a", "b", "a"], "text": ["fire"] * 3, "raw": [b"x"] * 3})
    pq.write_table(table, tmp_path / "posts.parquet")
    ran = tidings("match", tmp_path / "posts.parquet", asked, "--format", "json")
    assert pairs([json.loads(line) for line in ran.out.splitlines()]) == [("a", "s1"), ("b", "s1")]
    assert "rejected 1 of 3 posts:\n  row 2: publication 'a': its id came before" in ran.err
    assert caplog.text.count("the column 'raw' is no attribute") == 1


def test_a_name_may_turn_up_late_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BLOCK_BYTES", 10)
    (tmp_path / "posts.jsonl").write_text('{"id": "a"}\n{"id": "b", "likes": 1}\n{"id": "c", "likes": 1.5}')
    file = TableFile(tmp_path / "posts.jsonl")
    assert file.read()["likes"].to_pylist() == [None, 1, 1.5]
    assert file.read(1).to_pylist() == [{"id": "a"}]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_a_file_that_is_not_what_it_says_is_told_in_one_line(
    tidings: Tidings, posts: Path, asked: Path, tmp_path: Path, ending: str
) -> None:
    bad = tmp_path / f"bad{ending}"
    bad.write_bytes(b"\xffnothing, that\ncan be read\n\0" * 3)
    for arguments in ((bad, asked), (posts, bad)):
        ran = tidings("match", *arguments, "--output", tmp_path / "found.parquet")
        assert (ran.code, ran.out) == (1, "") and not (tmp_path / "found.parquet").exists()
        assert ran.err.startswith(f"tidings: the file '{bad}' cannot be read: ") and ran.err.count("\n") == 1


def test_a_file_that_breaks_off_leaves_no_output(
    tidings: Tidings, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 1_000)
    monkeypatch.setattr(flow, "MAX_ROWS", 10)
    text = "id,likes\n" + "".join(f"{n},{n}\n" for n in range(1_000)) + "x,1,many\n"
    (tmp_path / "posts.csv").write_text(text)
    ran = tidings("match", tmp_path / "posts.csv", asked, "--output", tmp_path / "found.parquet")
    assert ran.code == 1 and "many" in ran.err.splitlines()[-1]
    assert not list(tmp_path.glob("found*"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("absent.parquet", "asked.parquet"), "there is no file 'absent.parquet'"),
        (("posts.parquet", "absent"), "there is no file 'absent'"),
        (("posts.txt", "asked.parquet"), "cannot tell what 'posts.txt' holds; name a file that ends in .parquet, .csv"),
        (("empty", "asked.parquet"), "'empty' is a folder; name a file"),
        (("posts.parquet", "posts.parquet"), "expected one column 'query', got id, text, lat, lon, likes"),
        (("posts.parquet", "empty"), "nobody has subscribed in 'empty' yet"),
    ],
)
def test_what_is_missing_is_told_in_one_line(
    tidings: Tidings,
    posts: Path,
    asked: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, str],
    problem: str,
) -> None:
    monkeypatch.chdir(posts.parent)
    Path("posts.txt").touch()
    Path("empty").mkdir()
    ran = tidings("match", *arguments)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"tidings: {problem}") and ran.err.count("\n") == 1
    assert not list(Path("empty").iterdir())


def test_input_is_never_written_over(tidings: Tidings, posts: Path, asked: Path, tmp_path: Path) -> None:
    before = posts.read_bytes()
    assert tidings("match", posts, asked, "--output", tmp_path / "." / "posts.parquet").code == 2
    assert posts.read_bytes() == before
    assert tidings("match", posts, asked, "--output", tmp_path / "found.csv").code == 2


def test_data_stays_on_stdout_while_a_bar_is_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes rich take stderr for a terminal
    with progress("matching", None) as advance:
        advance(1)
        print("data")
    out, err = capsys.readouterr()
    assert out == "data\n" and "matching" in err


def test_whole_numbers_as_ids_stay_exact_however_large(tidings: Tidings, asked: Path, tmp_path: Path) -> None:
    ids = ["9007199254740993", "18446744073709551617", "7", str(10**40 + 1)]
    for count in (1, 2, 4):
        posts = tmp_path / "posts.jsonl"
        posts.write_text("\n".join(f'{{"id": {name}, "text": "fire"}}' for name in ids[:count]) + "\n")
        assert TableFile(posts).read()["id"].cast(pa.string()).to_pylist() == ids[:count]
        ran = tidings("match", posts, asked, "--format", "json")
        assert [json.loads(line)["publication_id"] for line in ran.out.splitlines()] == ids[:count]


def test_fractions_beside_whole_numbers_leave_ids_as_they_are_written(tmp_path: Path) -> None:
    posts = tmp_path / "posts.jsonl"
    posts.write_text('{"id": 9007199254740993}\n\n{"id": 1.50}\n{"text": "x"}\n{"id": null}\n')
    assert TableFile(posts).read()["id"].to_pylist() == ["9007199254740993", "1.50", None, None]


@pytest.mark.thorough
def test_a_match_that_is_ended_leaves_no_part_of_a_file(posts: Path, asked: Path, tmp_path: Path) -> None:
    output = tmp_path / "deep" / "found.parquet"
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tidings.cli import flow, main\n"
        "def ended(*_):\n"
        f"    assert [path.name for path in Path({str(output.parent)!r}).iterdir()] == ['found.parquet.part']\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "flow.flow = ended\n"
        f"sys.argv = ['tidings', 'match', {str(posts)!r}, {str(asked)!r}, '--output', {str(output)!r}]\n"
        "main.main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 128 + signal.SIGTERM, ran.stderr
    assert not list(output.parent.iterdir())
