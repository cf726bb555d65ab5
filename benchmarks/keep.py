"""What does it cost an engine to keep publications, and how soon does a subscription have its past?

Two engines in folders, one with ``keep``, publish the same posts one at a time, a part of them in turn. The rate is
that of the best part; the one with ``keep`` ends when its part is filed. Then both get all posts over and over as
tables, until many of them have become files: there all time counts, but for the first file, with which kernels are
compiled or loaded. Then one engine keeps many posts, and new
subscriptions ask for words that so many of them have: alone, and with a phrase that they must not have, for which each
of them is verified. All times are those of the processor, of all threads together: filing has a thread of its own.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from benchmarks.commands.options import HowToPrint, Save, Seed
from tidings.cli.format import Format

LENGTHS = (10, 100, 1_000, 10_000)
PART_POSTS = 2_500
BATCH_POSTS = 10_000
FIRST_POSTS, LONG_POSTS = 100_000, 1_000_000
"""So many are published before all time counts, and then."""

WORDS_EACH = 5
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def keep(  # noqa: PLR0913  # each is an option
    *,
    subscriptions: Annotated[int, typer.Option(min=1, help="How many ask while posts are published.")] = 10_000,
    posts: Annotated[int, typer.Option(min=PART_POSTS, help="How many each engine publishes.")] = 20_000,
    kept: Annotated[int, typer.Option(min=1_000, help="How many are kept when the past is asked for.")] = 100_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each past is asked for.")] = 9,
    data: Annotated[Path | None, typer.Option(help="Folder with tweets.parquet; made-up posts without.")] = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Publishing with and without keep, and the past of a query over many kept posts."""
    from benchmarks.names import Name
    from benchmarks.printing import print_figures
    from benchmarks.result import Result
    from benchmarks.workloads import workload

    asked = workload(Name.words, data, subscriptions, posts, seed)
    figures = {"subscriptions": subscriptions, "posts": posts, **rates(asked.subscriptions, asked.posts)}
    figures |= {"kept": kept, **pasts(asked.posts["text"], kept, rounds)}
    result = Result("keep", "tweets.parquet" if data else "made-up posts", figures, seed)
    if save:
        result.save(save)
    print_figures(result, output_format)


def rates(subscriptions: pa.Table, posts: pa.Table) -> dict[str, Any]:
    """Posts a second of the processor with and without ``keep``, published one at a time and as tables."""
    from tidings.engine import Engine

    spent: dict[tuple[str, bool], list[float]] = {}
    with TemporaryDirectory() as a, TemporaryDirectory() as b, Engine(a) as plain, Engine(b, keep=DAY) as kept:
        for engine in (plain, kept):
            engine.subscribe_many(subscriptions)
            engine.compact()
        for start in range(0, posts.num_rows - PART_POSTS + 1, PART_POSTS):
            part = posts.slice(start, PART_POSTS)
            found = [_timed(engine, part, spent, engine is kept) for engine in (plain, kept)]
            assert found[0] == found[1], "an engine with keep finds other matches"
        long = _long(plain, kept, posts)
    best = {key: PART_POSTS / min(some) for key, some in spent.items()}
    figures: dict[str, Any] = {}
    for way in ("one_by_one", "tables"):
        figures[f"{way}_per_cpu_s"] = round(best[way, False])
        figures[f"{way}_kept_per_cpu_s"] = round(best[way, True])
        figures[f"{way}_ratio"] = round(best[way, True] / best[way, False], 3)
    return figures | {"tables_with_files_ratio": round(long, 3)}


def _long(plain: Any, kept: Any, posts: pa.Table) -> float:
    """The rate with ``keep`` divided by that without, for so many posts that files of them are written."""
    spent = {False: 0.0, True: 0.0}
    for start in range(0, FIRST_POSTS + LONG_POSTS, BATCH_POSTS):
        if start == FIRST_POSTS:
            spent = {False: 0.0, True: 0.0}
        part = posts.slice(start % max(1, posts.num_rows - BATCH_POSTS + 1), BATCH_POSTS)
        for engine in (plain, kept):
            began = time.process_time()
            engine.match(part)
            _file(engine, engine is kept)
            spent[engine is kept] += time.process_time() - began
    return spent[False] / spent[True]


def _timed(engine: Any, part: pa.Table, spent: dict[tuple[str, bool], list[float]], is_kept: bool) -> tuple[int, int]:
    """Publish a part both ways; how many matches there were."""
    ids, texts = part["id"].to_pylist(), part["text"].to_pylist()
    began = time.process_time()
    single = sum(len(engine.publish(id=name, text=text)) for name, text in zip(ids, texts, strict=True))
    _file(engine, is_kept)
    middle = time.process_time()
    many = len(engine.match(part))
    _file(engine, is_kept)
    spent.setdefault(("one_by_one", is_kept), []).append(middle - began)
    spent.setdefault(("tables", is_kept), []).append(time.process_time() - middle)
    return single, many


def _file(engine: Any, is_kept: bool) -> None:
    if is_kept:
        engine._past._filing.join()
        engine._past._kept.file()


def pasts(texts: pa.ChunkedArray, kept: int, rounds: int) -> dict[str, Any]:
    """How long the past of one query takes, in ms of the processor, by how many of the kept posts have its word."""
    from tidings.engine import Engine

    rng = np.random.default_rng(1)
    rows: dict[str, list[Any]] = {"guard_posts": [], "plain_cpu_ms": [], "verified_cpu_ms": [], "past": []}
    with TemporaryDirectory() as folder, Engine(folder, keep=DAY) as engine:
        began = time.perf_counter()
        for start in range(0, kept, BATCH_POSTS):
            chosen = pa.array(rng.integers(0, len(texts), min(BATCH_POSTS, kept - start)))
            ids = pa.array([f"p{start + n}" for n in range(len(chosen))])
            engine.match(pa.table({"id": ids, "text": texts.take(chosen)}))
        _file(engine, True)
        filled_s = time.perf_counter() - began
        size = sum(file.stat().st_size for file in Path(folder, "past").iterdir())
        for length, words in _guards(engine, kept):
            plain = [_past_ms(engine, word, rounds) for word in words]
            verified = [_past_ms(engine, f'{word} -"{word} {word} {word}"', rounds) for word in words]
            rows["guard_posts"].append(length)
            rows["plain_cpu_ms"].append(round(statistics.median(ms for ms, _ in plain), 2))
            rows["verified_cpu_ms"].append(round(statistics.median(ms for ms, _ in verified), 2))
            rows["past"].append(round(statistics.median(count for _, count in plain)))
    return {"filled_s": round(filled_s, 1), "kept_bytes_per_post": round(size / kept), **rows}


def _guards(engine: Any, kept: int) -> Iterator[tuple[int, list[str]]]:
    """Words that about so many of the kept posts have."""
    from tidings.storage.kept_block import KeptBlock

    lengths: dict[str, int] = {}
    for part in engine._past._kept._all():
        for block in part.blocks:
            lists = block.lists if block.words is None else KeptBlock.sealed([block]).lists
            for key, count in zip(lists.keys.texts().to_pylist(), np.diff(lists.starts).tolist(), strict=True):
                if key[1:].isalpha() and key[1:].isascii():
                    lengths[key[1:]] = lengths.get(key[1:], 0) + count
    for length in (length for length in LENGTHS if length < kept / 5):
        near = sorted(lengths, key=lambda word: (abs(np.log(lengths[word] / length)), word))
        stable = [word for word in near[:50] if _stem_of(word) == word]
        yield length, stable[:WORDS_EACH]


def _stem_of(word: str) -> str | None:
    from tidings.analysis import ENGLISH

    return ENGLISH.words_of([word])[0]


def _past_ms(engine: Any, query: str, rounds: int) -> tuple[float, int]:
    """The median, commit of the subscription apart, and how many publications it is."""
    engine.subscribe(query, id="asked", since=LONG_AGO)
    record, spent = engine._index.record("asked"), []
    meaning = engine._index.read(record.query)
    for _ in range(rounds):
        began = time.process_time()
        found = engine._past.of(record, meaning, engine._past._kept.next_number)
        spent.append(1e3 * (time.process_time() - began))
    return statistics.median(spent), len(found.past)
