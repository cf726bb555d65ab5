"""What should a pipeline have found? A plain evaluation of each batch, at the version that it was pinned to.

It shares neither the fold of the registry nor the parser, the analyser or the cuts with the product
(:mod:`tests.spark.plain`), so no error of theirs cancels. Posts are files of Parquet, a few hundred rows each; Spark's
own log of its source says which of them were in a batch.
"""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from functools import cache
from multiprocessing import parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark import plain
from tidings.cluster.cut import Cut
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.partitioning.mapping import hash_names
from tidings.registry import Registry
from tidings.registry.schemas import SUBSCRIPTION
from tidings.shedding.coins import coins
from tidings.workloads import Posts

POSTS = Posts(seed=5, vocabulary=2_200, words=(4, 9))
ROWS = 300
COLUMNS = ["publication_id", "subscription_id", "subscriber", "tag", "query_version", "ts"]

Row = tuple[object, ...]


def write_posts(folder: Path, number: int, rows: int = ROWS, bad: int = 0) -> pa.Table:
    """File number so and so of an endless stream, there at once; ``bad`` of its rows lie beyond the pole."""
    table = POSTS.table(rows, start=number * ROWS)
    lat = [95.0 if row < bad else value for row, value in enumerate(table["lat"].to_pylist())]
    lon = [0.0 if row < bad else value for row, value in enumerate(table["lon"].to_pylist())]
    table = table.set_column(3, "lat", pa.array(lat, pa.float64())).set_column(4, "lon", pa.array(lon, pa.float64()))
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"_{number:06}"
    pq.write_table(table, part)
    part.rename(folder / f"{number:06}.parquet")
    return table


@cache
def sample() -> tuple[list[str], list[datetime]]:
    """Texts and instants of some posts."""
    table = POSTS.table(4096)
    return table["text"].to_pylist(), table["ts"].to_pylist()


def subscriptions(rng: random.Random, count: int, names: int = 200) -> pa.Table:
    """Queries of all kinds over those posts, under ids that are used again and again."""
    words, instants = sample()
    rows = []
    for name in rng.sample(range(names), count):
        a, b = rng.choice(words).split()[-1], rng.choice(words).split()[-1]
        likes, west = rng.randint(1, 30), rng.randint(-180, 80)
        query = rng.choice(
            [
                *(a, f"{a} {b}", f"{a} OR {b}", f"{a} -{b}", f'"{b} {a}" OR {a}', f"{a[:2]}* likes:>{likes}"),
                *(f"lang:es {a}", f"topic:sports likes:>={likes}", f"bounding_box:[{west} -60 {west + 60} 60] {a}"),
            ]
        )
        since = rng.choice([None, None, None, rng.choice(instants)])
        until = rng.choice([None, None, None, (since or rng.choice(instants)) + timedelta(seconds=1)])
        texts = {
            "id": f"s{name}",
            "query": query,
            "subscriber": rng.choice(["ada", "bob"]),
            "tag": rng.choice(["", "x"]),
        }
        rows.append(texts | {"since": since, "until": until})
    return pa.Table.from_pylist(rows, SUBSCRIPTION)


def change(registry: Registry, rng: random.Random) -> None:
    """Somebody subscribes anew, somebody else no longer."""
    registry.add(subscriptions(rng, rng.randint(1, 30)))
    if rng.random() < 0.5:
        registry.remove(f"s{name}" for name in rng.sample(range(200), 10))


def ask_for_the_past(registry: Registry, rng: random.Random) -> None:
    """Subscriptions come that begin with some post, most of them before now, and few of which end."""
    rows = subscriptions(rng, rng.randint(5, 40)).to_pylist()
    instants = sample()[1]
    for row in rows:
        row["since"] = rng.choice([None, *[rng.choice(instants[:1500]) for _ in range(4)]])
        row["until"] = rng.choice([None, None, (row["since"] or instants[0]) + timedelta(seconds=rng.choice([1, 2]))])
    registry.add(pa.Table.from_pylist(rows, SUBSCRIPTION))


def subscribe_on(path: Path, seed: int, told: Path, enough: Event) -> None:
    """Change a registry until it is enough or the test is gone, and write down what each version was told to be."""
    registry, rng, test = Registry(path), random.Random(seed), parent_process()
    with told.open("w", buffering=1) as file:
        while not enough.wait(1) and (test is None or test.is_alive()):
            table = subscriptions(rng, rng.randint(1, 30))
            receipt = registry.add(table)
            refused = {row.id for row in receipt.rejected}
            rows = [("add", row["id"], row["query"]) for row in table.to_pylist() if row["id"] not in refused]
            if rows:
                print(json.dumps([receipt.version, rows]), file=file)
            if rng.random() < 0.5:
                names = [f"s{name}" for name in rng.sample(range(200), 10)]
                version = registry.remove(names).version
                print(json.dumps([version, [("remove", name, None) for name in names]]), file=file)


def batches_of_files(checkpoint: Path) -> dict[int, list[Path]]:
    """The files of each batch, by the log of Spark's file source, and that of the offsets up to which a batch goes.

    The source counts what it has found. That is not the batch, where one could not be begun: the next has both.
    """
    found: dict[Path, int] = {}
    for log in (checkpoint / "spark" / "sources" / "0").glob("[0-9]*"):
        for line in log.read_text().splitlines():
            if line.startswith("{"):
                entry = json.loads(line)
                found[Path(unquote(urlparse(entry["path"]).path))] = entry["batchId"]
    ends = {batch: int(end["logOffset"]) for batch, end in _ends(checkpoint).items()}
    batches: dict[int, list[Path]] = {}
    for file, number in sorted(found.items()):
        batches.setdefault(next(batch for batch, end in ends.items() if end >= number), []).append(file)
    return batches


def batches_of_offsets(checkpoint: Path, records: pa.Table, posts: Path) -> dict[int, pa.Table]:
    """The posts of each batch, by Spark's log of the offsets of a topic, what the topic holds, and files of posts."""
    everything = pa.concat_tables([pq.read_table(file) for file in sorted(posts.glob("*.parquet"))])
    row_of = {name: row for row, name in enumerate(everything["id"].to_pylist())}
    ends = {batch: end["posts"] for batch, end in _ends(checkpoint).items()}
    found: dict[int, list[int]] = {batch: [] for batch in ends}
    for record in records.to_pylist():
        batch = next(batch for batch in ends if ends[batch].get(str(record["partition"]), 0) > record["offset"])
        found[batch].append(row_of[record["key"]])
    return {batch: everything.take(rows) for batch, rows in found.items()}


def _ends(checkpoint: Path) -> dict[int, dict[str, Any]]:
    """Where each batch ends, as its source tells it, in order of the batches."""
    logs = sorted((int(file.name), file) for file in (checkpoint / "spark" / "offsets").glob("[0-9]*"))
    return {batch: json.loads(file.read_text().splitlines()[-1]) for batch, file in logs}


def expected(
    checkpoint: Path,
    registry: Registry,
    batches: dict[int, pa.Table] | None = None,
    *,
    sheds: bool = True,
    keep: timedelta | None = None,
) -> dict[int, list[Row]]:
    """The matches of each batch, in order; without ``batches``, of those that were files.

    What was pinned to be shed is left out, unless it ``sheds`` nothing. With ``keep``, new subscriptions have a past.
    """
    if batches is None:
        files = batches_of_files(checkpoint).items()
        batches = {batch: pa.concat_tables([pq.read_table(file) for file in of]) for batch, of in files}
    journal = PipelineFolder(checkpoint).journal
    found = {}
    for batch, posts in batches.items():
        pin = journal.pin(batch)
        assert pin is not None, f"batch {batch} has no pin"
        matched = left(posts, pin.cut, pin.layout) if sheds and pin.cut is not None else posts
        found[batch] = brute(matched, registry, pin.version)
        if keep is not None and batch:
            found[batch] = sorted(found[batch] + past(checkpoint, registry, batches, batch, keep))
    return found


def past(checkpoint: Path, registry: Registry, batches: dict[int, pa.Table], batch: int, keep: timedelta) -> list[Row]:
    """What subscriptions with a ``since`` find in earlier batches, that live at the pin of a batch and came after the
    pin of the batch before it."""
    pins = {number: pin for number in batches if (pin := PipelineFolder(checkpoint).journal.pin(number))}
    live, before = plain.live(Path(registry.path), pins[batch].version), pins[batch - 1].version
    new = {name: row for name, row in live.items() if row["since"] is not None and row["query_version"] > before}
    rows: list[Row] = []
    for number in (number for number in batches if number < batch and pins[number].at >= pins[batch].at - keep):
        rows += found_by(batches[number], new)
    return rows


def left(posts: pa.Table, cut: Cut, layout: str) -> pa.Table:
    """The posts that are matched, by the policy ``random``; where matchers share the index, what is matched is less.

    Each post decides by its three coins whether it is spared, looked at, and kept.
    """
    assert cut.policy == "random" and cut.floor is None
    keys = hash_names(posts["id"])
    spared, kept, seen = (coins(keys, seed).tolist() for seed in (1001, 1002, 1003))
    shares = cut.spared, cut.looked_at, cut.fraction if layout == "replicated" else 1.0
    for share, drawn in zip(shares, (spared, seen, kept), strict=True):
        expected = len(drawn) * min(share, 1.0)
        assert abs(sum(coin < share for coin in drawn) - expected) <= 6 * len(drawn) ** 0.5, "these coins are not fair"
    rows = [
        row
        for row, (a, b, c) in enumerate(zip(spared, seen, kept, strict=True))
        if a < shares[0] or (b < shares[1] and c < shares[2])
    ]
    return posts.take(pa.array(rows, pa.int64()))


def brute(posts: pa.Table, registry: Registry, version: int) -> list[Row]:
    """The matches of some posts with the subscriptions of one version, in order."""
    return sorted(found_by(posts, plain.live(Path(registry.path), version)))


def found_by(posts: pa.Table, asked: dict[str, dict[str, Any]]) -> list[Row]:
    """The matches of some posts with some subscriptions."""
    ids, instants = posts["id"].to_pylist(), posts["ts"].to_pylist()
    return [
        (ids[at], name, *(asked[name][column] for column in ("subscriber", "tag", "query_version")), instants[at])
        for at, name in plain.pairs(posts, asked)
    ]


def rows_of(table: pa.Table) -> list[Row]:
    """The matches of a table, in order."""
    return sorted(zip(*(table[name].to_pylist() for name in COLUMNS), strict=True))
