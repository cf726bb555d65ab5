import doctest
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_code_of_the_readme_prints_what_it_says() -> None:
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert results.attempted > 5 and results.failed == 0


def test_every_figure_of_the_readme_is_in_its_result_file() -> None:
    figures = json.loads((ROOT / "docs/results/analysis.json").read_text())["figures"]
    table = re.findall(r"^\| (?:exact|fast) analyser.*\| *([0-9,]+) \|(.*)\|$", (ROOT / "README.md").read_text(), re.M)
    assert [int(posts.replace(",", "")) for posts, _ in table] == [
        figures["exact_posts_per_s"],
        figures["fast_first_pass_posts_per_s"],
        figures["fast_second_pass_posts_per_s"],
    ]
    ratios = [float(x) for _, rest in table for x in re.findall(r"([0-9.]+)x", rest)]
    assert ratios == [figures["ratio_first_pass"], figures["ratio_second_pass"]]


def test_every_figure_of_the_index_is_in_its_result_file() -> None:
    rows = re.findall(
        r"^\|[^|]*\| ([0-9,]+) \| ([0-9,]+) \| ([0-9,.]+) \| \[\w+\]\((docs/results/[\w.-]+)\) \|$",
        (ROOT / "README.md").read_text(),
        re.M,
    )
    assert len(rows) == 7
    for named, found, matches, path in rows:
        figures = json.loads((ROOT / path).read_text())["figures"]
        assert int(named.replace(",", "")) == figures["with_fan_out_posts_per_s"]
        assert int(found.replace(",", "")) == figures["posts_per_s"]
        assert float(matches.replace(",", "")) == figures["matches_per_post"]


def test_the_figures_of_the_peer_are_in_its_result_file() -> None:
    figures = json.loads((ROOT / "docs/results/matching-words-100000.json").read_text())["figures"]
    text = " ".join((ROOT / "README.md").read_text().split())
    said = re.search(
        r"Lucene Monitor ([0-9.]+), .* does ([0-9,]+) posts/s one by one and ([0-9,]+) in batches; ours is (\d+) times",
        text,
    )
    assert said is not None and said[1] == figures["lucene"]
    single, batched = (int(number.replace(",", "")) for number in (said[2], said[3]))
    assert (single, batched) == (
        round(figures["lucene_single_posts_per_s"]),
        round(figures["lucene_batched_posts_per_s"]),
    )
    assert int(said[4]) == int(figures["ratio_batched_with_fan_out"])


def test_what_is_told_of_plain_sql_is_in_the_result_files() -> None:
    words, posts = (
        json.loads((ROOT / f"docs/results/spark-{name}.json").read_text())["figures"] for name in ("words", "posts")
    )
    told = " ".join((ROOT / "README.md").read_text().split())
    names = ("ours", "sql_rarest_word", "sql_pairs", "floor")
    first, second = ([f"{own[f'{name}_posts_per_s']:,}" for name in names] for own in (words, posts))
    assert f"ours does {first[0]} posts/s, a join on the rarest word in plain SQL {first[1]} and one on pairs" in told
    files = f"({posts['files_posts_per_s']:,} where workers read the file)"
    assert f"pairs of words {first[2]}; of whole posts {second[0]} {files}, {second[1]} and {second[2]}." in told
    assert f"through Python: {first[3]} and {second[3]} " in told


def test_the_latency_is_in_its_result_file() -> None:
    figures = json.loads((ROOT / "docs/results/spark-latency.json").read_text())["figures"]
    text = " ".join((ROOT / "README.md").read_text().split())
    said = re.search(r"(\d+) ms after their post was due \(median; 99 % within (\d+) ms\)", text)
    assert said is not None
    assert [int(number) for number in said.groups()] == [
        round(figures["latency_median_ms"]),
        round(figures["latency_p99_ms"]),
    ]


def test_what_is_written_to_parquet_is_in_its_result_file() -> None:
    figures = json.loads((ROOT / "docs/results/spark-written.json").read_text())["figures"]
    told = " ".join((ROOT / "README.md").read_text().split())
    ours, sql = (f"{figures[name]:,}" for name in ("files_posts_per_s", "sql_posts_per_s"))
    assert f"`write_matches` does {ours} posts/s and plain SQL {sql} " in told
    assert f"With {round(figures['matches_per_post'])} matches a post" in told
