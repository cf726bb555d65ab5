"""Throws hostile posts at an engine: each is matched soon or refused with a reason, and memory stays bounded.

    python tests/engine/fuzz_posts.py --count 1000000 --report docs/results/fuzz-posts.json

A seeded grammar of attacks writes the posts: words that nobody has seen, words with equal hashes, towers of accents,
letters that NFKC makes eighteen of, apostrophes, links and names without end, deep and many topics, thousands of
attributes, numbers at the edge, and broken values. Most have some hundred bytes, some a hundred KB, a few a MB. They
pass Engine.publish one by one, or Engine.match 256 at a time. Some are compared with the reference evaluation.

No post may take more than 50 ms, or 50 ms for each 100 KB of it; a table of posts may take 50 ms, and 50 ms for each
100 KB of it. Time is CPU time of this thread. A post that took longer is tried again, three times at once and, if that
does not do, ten times at the end, each time by a new engine that has seen none of its words. The best counts: CPU time
grows by half and more while others use the same cores and caches.
"""

from __future__ import annotations

import argparse
import functools
import heapq
import json
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.result import Result
from tidings.engine import Engine
from tidings.language import evaluate, parse
from tidings.model import Publication, PublicationError
from tidings.model.publication import MAX_TEXT_CHARS
from tidings.tables import publications

LIMIT_MS = 50.0
PER_BYTES = 100_000
_BATCH, _BATCHES = 256, 0.02
"""So many posts are matched at once, so often; others are published one by one."""

QUERIES = (
    "fire", "fire smoke", "straße", "istanbul -ankara", "(white OR red) house", '"white house"', '"fire smoke"~3',
    "x s", '"a b c d e f g h i j k l m n o p q r s t u v w x y z"~100', '"x x x x x x x x x x x x x x x x y"',
    "terror*", "aa* -bb*", "x1* OR x12* OR x123*", "のの* OR 漢", '"漢 字"', "name:Mc*", "name:*son",
    "name:*aab*", "name:yes", "likes:>3 fire", "likes:[1 TO 1e300]", "has:likes", "ts:>2020-01-01", "topic:a",
    "topic:a/b/c", "topic:a/*/c", "topic:*/*/*/x",
    "bounding_box:[150.5 -34.2 151.4 -33.4]", "fire point_radius:[151.2 -33.9 16km]", "-fire has:name",
)  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_HAN = "".join(map(chr, range(0x3400, 0xA000)))
_STARTS = (0xC0, 0x370, 0x400, 0x531, 0x5D0, 0x620, 0x900, 0xE00, 0x10A0, 0x1E00, 0x3040, 0xAC00, 0x10400)
_SCRIPTS = tuple("".join(map(chr, range(start, start + 200))) + " '’ " * 9 for start in _STARTS)
_POOL = 100_000
_NOW = datetime(2024, 1, 1, tzinfo=UTC)
_MARKS = "\u0300\u0301\u0307\u0316\u0323\u0327\u0338\u0345\u064b\u0650\u0591\u05b0\u0e38\u3099\U0001d165"
_EXPANDING = "\ufdfa\ufdfb\u3300\u33ff\u00bc\ufb03\u2a74\u1f82\u0390\u01c4\u0149\u0130\u00df"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\ufe0f\U000e0041\u034f"
_EDGE = (0, -0.0, 1, 3.5, 1e308, -1e308, 5e-324, 2**63, 10**300, 10**400, float("nan"), float("inf"), True, "9" * 300)
_WORDS = "fire smoke white house red drill terror terrorist x s a b c y straße İSTANBUL the of 漢字 x123 aab".split()

Post = dict[str, Any]


@functools.cache
def _pool(letters: str) -> str:
    """Many of these letters at random: to draw them for each post would take longer than to match it."""
    return "".join(random.Random(1).choices(letters, k=2 * _POOL))


def _some(letters: str, rng: random.Random, size: int) -> str:
    at, whole = rng.randrange(_POOL), size // _POOL
    return _pool(letters)[at : at + size % _POOL] + "".join(
        _pool(letters)[at : at + _POOL] for at in (rng.randrange(_POOL) for _ in range(whole))
    )


def _repeated(what: str, size: int) -> str:
    return (what * (size // max(1, len(what)) + 1))[:size]


def _distinct(rng: random.Random, size: int) -> str:
    """As many short words as fit, hardly one of them twice."""
    length = rng.choice((3, 3, 4, 6, 12, 17, 40))
    letters = _some(_LETTERS, rng, size)
    return " ".join(letters[i : i + length] for i in range(0, size * length // (length + 1), length))


def _han(rng: random.Random, size: int) -> str:
    return _some(_HAN, rng, size)


def _scripts(rng: random.Random, size: int) -> str:
    return _some(rng.choice(_SCRIPTS), rng, size)


def _marks(rng: random.Random, size: int) -> str:
    run = rng.choice((3, 60, 255, 256, 257, size))
    towers = (rng.choice("aeI\u3042 ") + _some(_MARKS, rng, min(run, size)) for _ in range(size // run + 1))
    return rng.choice(("", " ", "\xa0")).join(towers)[:size]


def _sorted_marks(_: random.Random, size: int) -> str:
    """What canonical ordering has to sort from end to end."""
    return "a" + "\u0301" * (size // 2) + "\u0323" * (size // 2)


def _of(letters: str, breaks: str) -> Callable[[random.Random, int], str]:
    return lambda rng, size: _some(letters + breaks * rng.randrange(2), rng, size)


def _unbroken(rng: random.Random, size: int) -> str:
    what = rng.choice(("'s", "x's", "'", "’s", "@", "@a", "@a@", "http://", "https://x", "http:/", "://", "h", "é", "/",
                       "漢", "a'", "\u1100\u1161", "\xa0", "\xa0x", "😀a", "→a", "１", "\x1b[31m", "\0", "a\u0301",
                       "ﷺ ", "ß"))  # fmt: skip
    return _repeated(what, size)


def _gaps(rng: random.Random, size: int) -> str:
    """One chunk of many forms."""
    words = _distinct(rng, size)
    return words.replace(" ", rng.choice(("\xa0", "\u3000", "😀", "—", "→", "·", "½")))


def _near(rng: random.Random, size: int) -> str:
    few = ("a b c d e f g h i j k l m n o p q r s t u v w x y ", "x ", "fire a smoke ", "漢字", "a ")
    return _repeated(rng.choice(few), size)


@functools.cache
def _colliding() -> list[str]:
    """Words that all met in one slot of a table of 2^14 before it had seeds."""
    letters = np.frombuffer(_LETTERS.encode(), dtype=np.uint8)
    raw = letters[np.random.default_rng(1).integers(len(letters), size=(1 << 22, 8))]
    value = raw.view(np.uint64)[:, 0] * np.uint64(0xD6E8FEB86659FD93)
    slots = (value ^ value >> np.uint64(32)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20) & np.uint64((1 << 14) - 1)
    return [bytes(word).decode() for word in raw[slots == 0]]


def _crafted(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(_colliding(), k=size // 9 + 1))


def _plain(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(_WORDS, k=size // 5 + 1))[:size]


def _bytes(rng: random.Random, size: int) -> str:
    return rng.randbytes(size).decode("utf-8", rng.choice(("replace", "ignore", "surrogateescape")))


TEXTS: tuple[Callable[[random.Random, int], str], ...] = (
    _distinct, _distinct, _han, _scripts, _marks, _sorted_marks, _of(_EXPANDING, " "), _of(_INVISIBLE + "ab", " "),
    _of("'’´sx", " "), _of("@_a:/http ", ""), _unbroken, _gaps, _near, _crafted, _plain, _plain, _bytes,
)  # fmt: skip


def _size(rng: random.Random) -> int:
    kind = rng.random()
    if kind < 0.9993:
        return int(rng.choice((5, 30, 100, 280, 280, 280, 600)) * (0.5 + rng.random()))
    return int(rng.choice((3_000, 20_000, 100_000)) if kind < 0.99997 else MAX_TEXT_CHARS * rng.uniform(0.9, 1.02))


def _topics(rng: random.Random) -> object:
    match rng.randrange(6):
        case 0:
            return "/".join("abcx"[rng.randrange(4)] for _ in range(rng.choice((1, 3, 8, 99, 101))))
        case 1:
            return [f"a/b{n}/c" for n in range(rng.choice((3, 3, 30, 300)))]
        case 2:
            return "a/" * rng.choice((10, 100_000 if rng.random() < 0.01 else 200)) + "b"
        case 3:
            return rng.choice(("", "/", "a//b", "a/\0", "*/*/*", "a/*/c", "\x1b]0;x\x07"))
        case _:
            return [rng.choice(("a", "a/b/c", "a/z/c/x", "q"))]


def _attributes(rng: random.Random) -> Post:
    match rng.randrange(6):
        case 0:
            return {f"n{n}": n for n in range(rng.choice((10, 10, 10, 10, 100, 1_000)))}
        case 1:
            return {"name": _repeated(rng.choice(("aa", "aab", "Mc", "\x1b[2J")), _size(rng))}
        case 2:
            return {"likes": rng.choice(_EDGE)}
        case 3:
            return {"name": rng.choice(("McDonald", "Johnson", "yes", "", "\ud800")), "likes": rng.randrange(10)}
        case _:
            return {rng.choice(("has:x", "_unread", "a.b", "", "é", "\u202e")): rng.choice(_EDGE)}


def hostile_post(rng: random.Random, number: int) -> Post:
    """One post: an attack on the text most of the time, and something else beside it now and then."""
    post: Post = {"id": f"p{number}", "text": rng.choice(TEXTS)(rng, _size(rng))}
    if rng.random() < 0.1:
        post["topic"] = _topics(rng)
    if rng.random() < 0.1:
        post |= _attributes(rng)
    if rng.random() < 0.1:
        post |= {
            "lat": rng.choice((-33.87, 0, 90, 91, 10**400, float("nan"))),
            "lon": rng.choice((151.2, 180, -180.5, 0)),
        }
    if rng.random() < 0.02:
        post["id"] = rng.choice(("\x1b[31m", "x" * 10_000, "\u202e", "", "\ud800", "é"))
    return post


def size_bytes(post: Post) -> int:
    """Of all texts in a post."""
    texts = [text for value in post.values() for text in (value if isinstance(value, list) else [value])]
    names = sum(len(name.encode("utf-8", "replace")) for name in post)
    return names + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts if isinstance(text, str))


@dataclass
class Outcome:
    """What a run saw. ``slowest``: milliseconds, by 50 ms for each 100 KB, and what it was."""

    posts: int = 0
    bytes: int = 0
    refused: int = 0
    matches: int = 0
    compared_with_the_reference: int = 0
    tried_again: int = 0
    tried_at_the_end: int = 0
    over_limit: int = 0
    worst_ms: float = 0.0
    worst_ms_per_100_kb: float = 0.0
    slowest: list[tuple[float, str]] = field(default_factory=list)
    rss_mb: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Doubtful:
    """Posts that took longer than they may: ``allowed`` times the limit."""

    spent_ms: float
    allowed: float
    what: str
    again: Callable[[Engine], object]


class Fuzz:
    """One run: an engine that sees all posts."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.outcome = Outcome()
        self.engine = new_engine()
        self._doubtful: list[_Doubtful] = []
        self._parsed = {name: parse(query) for name, query in zip(map(str, range(len(QUERIES))), QUERIES, strict=True)}

    def one(self, number: int) -> None:
        """Publish a post."""
        post = hostile_post(self.rng, number)
        found: list[str] | None = None
        spent_ms = _ms()
        try:
            found = [match.subscription_id for match in self.engine.publish(**post)]
        except PublicationError:
            self.outcome.refused += 1
        spent_ms = _ms() - spent_ms
        self.outcome.matches += len(found or ())
        self._count([post], spent_ms, lambda engine: _published(engine, post))
        if len(post["text"]) < 2_000 and number % 20 == 0:
            self._compare(post, found)

    def some(self, first: int, count: int) -> None:
        """Match a table of posts: those that have a text and an id alone, and whatever else a table can have."""
        posts = [hostile_post(self.rng, first + k) for k in range(count)]
        posts = [{"id": post["id"], "text": post["text"], "topic": post.get("topic")} for post in posts]
        posts = [post | {"topic": [t] if isinstance(t := post["topic"], str) else t} for post in posts]
        posts = [post for post in posts if _can_be_written(post)]
        table = pa.Table.from_pylist(
            posts, pa.schema({"id": pa.string(), "text": pa.string(), "topic": pa.list_(pa.string())})
        )
        spent_ms = _ms()
        found = self.engine.match(table)
        spent_ms = _ms() - spent_ms
        self.outcome.matches += len(found)
        self._count(posts, spent_ms, lambda engine: engine.match(table))
        if first % 7 == 0:
            pairs = {(match.publication_id, match.subscription_id) for match in found}
            for row in publications(table.slice(0, 2)):
                if isinstance(row, Publication) and len(row.text) < 2_000:
                    self._same(row, {name for post, name in pairs if post == row.id})

    def _count(self, posts: list[Post], spent_ms: float, again: Callable[[Engine], object]) -> None:
        outcome, sizes = self.outcome, [size_bytes(post) for post in posts]
        size = sum(sizes) / PER_BYTES
        allowed = max(1.0, size) if len(posts) == 1 else 1.0 + size  # so many times 50 ms
        if spent_ms > LIMIT_MS * allowed:
            outcome.tried_again += 1
            spent_ms = min(_timed(again) for _ in range(3))
        outcome.posts += len(posts)
        outcome.bytes += sum(sizes)
        what = f"{len(posts)} post(s) of {sum(sizes):,} bytes: {ascii(posts[0])[:120]}"
        if spent_ms > LIMIT_MS * allowed:
            self._doubtful.append(_Doubtful(spent_ms, allowed, what, again))
        else:
            self._settle(spent_ms, allowed, what)

    def end(self) -> None:
        """Try again what still took too long."""
        for doubtful in self._doubtful:
            spent_ms = min(doubtful.spent_ms, *(_timed(doubtful.again) for _ in range(10)))
            self._settle(spent_ms, doubtful.allowed, doubtful.what)
        self.outcome.tried_at_the_end = len(self._doubtful)
        self.outcome.slowest.sort(reverse=True)

    def _settle(self, spent_ms: float, allowed: float, what: str) -> None:
        outcome = self.outcome
        outcome.worst_ms = max(outcome.worst_ms, round(spent_ms, 1))
        outcome.worst_ms_per_100_kb = max(outcome.worst_ms_per_100_kb, round(spent_ms / allowed, 1))
        outcome.over_limit += spent_ms > LIMIT_MS * allowed
        heapq.heappush(outcome.slowest, (round(spent_ms / allowed, 1), f"{spent_ms:.1f} ms, {what}"))
        if len(outcome.slowest) > 5:
            heapq.heappop(outcome.slowest)

    def _compare(self, post: Post, found: list[str] | None) -> None:
        """With the reference evaluation."""
        topic = post.get("topic", ())
        known = {"id", "text", "topic", "lat", "lon"}
        attributes = {name: value for name, value in post.items() if name not in known}
        topics = (topic,) if isinstance(topic, str) else tuple(topic)
        try:
            publication = Publication(
                post["id"], post["text"], _NOW, post.get("lat"), post.get("lon"), topics, attributes
            )
        except PublicationError:
            if found is not None:
                self.outcome.failures.append(f"matched, but it cannot be a publication: {ascii(post)[:200]}")
            return
        self._same(publication, set(found or ()) | self._now_matters())

    def _now_matters(self) -> set[str]:
        """The post has an instant here and none there: what asks for one differs."""
        return {str(QUERIES.index("ts:>2020-01-01"))}

    def _same(self, publication: Publication, found: set[str]) -> None:
        self.outcome.compared_with_the_reference += 1
        skipped = self._now_matters()
        expected = {name for name, query in self._parsed.items() if evaluate(query, publication)}
        if expected - skipped != found - skipped:
            self.outcome.failures.append(f"{expected ^ found} differ: {ascii(publication)[:200]}")


def new_engine() -> Engine:
    engine = Engine(clock=lambda: _NOW)
    for number, query in enumerate(QUERIES):
        engine.subscribe(query, id=str(number))
        if number == len(QUERIES) // 2:
            engine.compact()
    engine.publish(id="first", text="terrorist ﬁre漢", topic="a", lat=1.0, lon=1.0, name="x", likes=1)
    engine.match(pa.table({"id": ["first"], "text": ["terrorist ﬁre漢"], "topic": [["a"]]}))
    return engine


def _ms() -> float:
    return time.thread_time() * 1000


def _timed(work: Callable[[Engine], object]) -> float:
    engine = new_engine()
    began = _ms()
    work(engine)
    return _ms() - began


def _published(engine: Engine, post: Post) -> None:
    with suppress(PublicationError):
        engine.publish(**post)


def _can_be_written(post: Post) -> bool:
    """Arrow has no half surrogate pairs."""
    try:
        return bool(f"{post['id']}{post['text']}{post['topic']}".encode())
    except UnicodeEncodeError:
        return False


def _rss_mb() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


def run(count: int, seed: int, minutes: float = 60.0, progress: bool = False) -> Outcome:
    """So many posts, or fewer where the time is over."""
    fuzz = Fuzz(seed)
    end = time.monotonic() + 60 * minutes
    number = 0
    marks = [count * k // 10 for k in range(11)]
    while True:
        while marks and number >= marks[0]:
            marks.pop(0)
            fuzz.outcome.rss_mb.append(_rss_mb())
            if progress:
                print(f"{seed}: {number:,} of {count:,}, {_rss_mb()} MB", file=sys.stderr, flush=True)
        if number >= count or time.monotonic() > end:
            break
        batch = min(_BATCH, count - number) if fuzz.rng.random() < _BATCHES else 1
        if batch > 1:
            fuzz.some(number, batch)
        else:
            fuzz.one(number)
        number += batch
    fuzz.end()
    return fuzz.outcome


def together(outcomes: list[Outcome]) -> Outcome:
    """What several runs saw; memory is that of each, one after the other."""
    first, *others = outcomes
    for other in others:
        for name in (
            "posts",
            "bytes",
            "refused",
            "matches",
            "compared_with_the_reference",
            "tried_again",
            "tried_at_the_end",
            "over_limit",
        ):
            setattr(first, name, getattr(first, name) + getattr(other, name))
        first.worst_ms = max(first.worst_ms, other.worst_ms)
        first.worst_ms_per_100_kb = max(first.worst_ms_per_100_kb, other.worst_ms_per_100_kb)
        first.slowest = sorted(first.slowest + other.slowest, reverse=True)[:5]
        first.rss_mb += other.rss_mb
        first.failures += other.failures
    return first


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--processes", type=int, default=1, help="each with its share of the posts and the next seed")
    options.add_argument("--minutes", type=float, default=60.0, help="end by then, with fewer posts")
    options.add_argument("--report", type=Path)
    chosen = options.parse_args()
    seeds = range(chosen.seed, chosen.seed + chosen.processes)
    share = -(-chosen.count // chosen.processes)
    with ProcessPoolExecutor(chosen.processes, get_context("spawn")) as pool:
        outcome = together(
            list(pool.map(run, repeat(share, chosen.processes), seeds, repeat(chosen.minutes), repeat(True)))
        )
    record = Result("fuzz-posts", "generated", asdict(outcome), chosen.seed).record()
    record["command"] = " ".join(["python", *sys.argv])
    report = json.dumps(record, indent=2, ensure_ascii=True)
    print(report)
    if chosen.report:
        chosen.report.write_text(report + "\n", encoding="utf-8")
    return 1 if outcome.failures or outcome.over_limit else 0


if __name__ == "__main__":
    sys.exit(main())
