"""Throws random and mutated text at the query language: nothing but QueryError may come back, and soon.

    python tests/language/fuzz.py --count 1000000 --report docs/results/fuzz-language.json

Half of the inputs are mutations of valid queries, a quarter random strings of the language's own signs, a quarter
random bytes; the first few are made to be slow. After them come the largest queries that may be asked, which are
also subscribed. Time is CPU time of this thread: other work on the machine does not
count.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise

from tests.fuzzing import Seen, main, throw
from tidings.engine import Engine
from tidings.language import parse, to_text
from tidings.model import QueryError

VALID = (
    "white house",
    "(fire OR smoke) -drill bounding_box:[150.5 -34.2 151.4 -33.4]",
    '"white house"~3 NOT (a OR "b c")',
    "terror* symbol:(YHOO OR GOOG) name:Mc* name:*son name:*art*",
    "volume:>300000 volume:>=3e5 price:[10 TO 20} price:10..20 has:price",
    "ts:[2020-01-01 TO 2021-01-01T10:00:00Z] point_radius:[151.2 -33.9 16km]",
    "polygon:((0 0, 9 0, 9 9), (5 1, 8 1, 8 2)) OR polygon:(((1 1, 2 1, 2 2, 1 1)), ((5 5, 6 5, 6 6, 5 5)))",
    'topic:sports/*/final topic:"arts and crafts/x"',
    '#fire -$BHP (@nswrfs OR #日本) any:(fire "white house"~2)',
    'name:/a+(b|c){2,5}[^d]*/i OR name:i"mcdonald"* OR path:a*b?c "User Agent":*i"curl"* has:"a b"',
    "ip:(10.0.0.0/8 OR 2001:db8::/32) cs-method:GET user.name:ada price:[5 TO 5] -_exists_:x",
    "[class,eq,'STOCK'],[symbol,eq,'YHOO'],[volume,>,300000],[x,isPresent,0]",
)
SIGNS = ("AND", "OR", "NOT", "TO", "-", "(", ")", "[", "]", "{", "}", '"', "“", "”", "~", "*", ":", "..", ">", "<=",
         "^", "&", "\\", "\0", "\ud800", " ", "\n", "a", "fire", "the", "9", "1e999", "nan", "-0", "has:", "topic:",
         "x:", "bounding_box:", "point_radius:", "polygon:((", "km", "/", ",", "'", "@a", "http://x", "白", "é",
         "\u200b", "２", "#a", "$b", "any:", '"a b":', 'i"', "?", "@2", "TO 5", "/a*/", "10.0.0.0/8")  # fmt: skip

HARD = (
    " OR ".join(f"w{i}" for i in range(500)),
    " ".join(f"w{i}" for i in range(700)),
    "x -(" + " OR ".join(f"w{i}" for i in range(500)) + ")",
    " ".join(f"({' OR '.join(f'{c}{i}' for i in range(22))})" for c in "ab"),
    " ".join(f"({' OR '.join(f'{c}{i}' for i in range(6))})" for c in "abc"),
    " ".join(f"(a{i} OR b{i})" for i in range(40)),
    " OR ".join([f"w{i}" for i in range(180)] + [f"(w{i} v{i})" for i in range(180)]),
    "(" * 2000 + "x" + ")" * 2000,
    "-(" * 1300 + "x" + ")" * 1300,
    "-" * 4000 + "x",
    "NOT " * 1000 + "x",
    "x:1 " * 1000,
    "x:[1 TO 2] " * 370,
    "x:(" + " OR ".join([">1e15"] * 400) + ")",
    '"a b c" ' * 500,
    '"' + "ﷺ" * 2000 + '"',
    "ab* " * 1000,
    "polygon:((" + ", ".join(f"{n // 2 % 2} {n}e-3" for n in range(3_900)) + ", -1 0))",
    "polygon:((" + ", ".join(f"{n % 2} {n % 90}" for n in range(9_000)) + "))",
    "polygon:((" + "), (".join(f"{n}e-2 0, {n}e-2 1, {n + 1}e-2 1" for n in range(1_500)) + "))",
    "polygon:(" + "(" * 1_000,
    '"' * 4096,
    "topic:" + "a/" * 2000 + "b",
    " OR ".join(f"x {a}{b}" for a in "bcdefghjklmnpqruvwyz" for b in "bcdfghjklmnpqrtuv2345")[:4090].rsplit(" OR ", 1)[
        0
    ],
    "x -(" + " ".join(f"{a}{b}" for a in "bcdefghjklmnpqruvwyz" for b in "bcdfghjklmnpqrtuvwyz23456") + ")",
)


def _most(join: str, parts: Iterable[str], begin: str = "", end: str = "") -> str:
    """As many parts as a query may have, of its 65,536 characters and 10,000 conditions."""
    kept = [*islice(parts, 9_999)]
    while len(made := begin + join.join(kept) + end) > 65_536:
        del kept[65_000 * len(kept) // len(made) :]
    return made


_WORDS = [f"{a}{b}{c}" for a in "bcdfgjklmnpqrvwxz" for b in "aeiou0123456789" for c in "bcdfgjklmnpqrvwxz0123456789"]
LARGEST = (
    _most(" OR ", _WORDS),
    _most(" ", _WORDS),
    _most(" ", _WORDS, "x -(", ")"),
    _most(" OR ", _WORDS, "x -(", ")"),
    " ".join(f"({' OR '.join(_WORDS[n * 2_500 : n * 2_500 + 2_500])})" for n in range(2)),
    _most(") (", (f"{a} OR {b} {c}" for a, b, c in zip(*[iter(_WORDS)] * 3, strict=False)), "(", ")"),
    _most(" ", (f"x:{n} -x:{n + 5_000}" for n in range(3_300)), "x "),
    _most(" ", (f"x:>{n} -x:>{n + 9_000}" for n in range(2_500)), "x "),
    _most(" OR ", (f"n:/a{n}.*b+/" for n in range(9_999))),
    _most(" OR ", (f"n:a{n}*b?" for n in range(9_999))),
    _most(" ", (f"topic:a{n} -topic:b{n}" for n in range(3_000)), "x "),
    _most(" OR ", (f'"{a} {b}"~9' for a, b in pairwise(_WORDS))),
    _most(" OR ", (f"polygon:(({n % 90} 0, {n % 90} 1, {n % 90 + 1} {n % 80}))" for n in range(9_999))),
    "x:" + "a" * 60_000,
    'x:"' + '\\"' * 30_000 + '"',
)
"""The largest queries there are, each hard for another part."""


@dataclass
class Outcome(Seen):
    """What a run saw, and which input took longest; of the largest queries how long one was read and subscribed."""

    slowest_input: str = ""
    largest_ms: float = 0.0
    subscribed_ms: float = 0.0


def one_input(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.25:
        return rng.randbytes(rng.randrange(1, 60)).decode("utf-8", "surrogateescape")
    if kind < 0.5:
        return "".join(rng.choice(SIGNS) + rng.choice(("", " ")) for _ in range(rng.randrange(1, 25)))
    return mutated(rng.choice(VALID), rng)


def mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.randrange(1, 6)):
        at, to = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        match rng.randrange(5):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + rng.choice(SIGNS) + text[at:]
            case 2:
                text = text[:to] + text[at:to] * rng.randrange(1, 4) + text[to:]
            case 3:
                text = text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x110000)))) + text[at:]
            case _:
                text = f"({text}) {rng.choice(('OR', 'AND', '-', ''))} {rng.choice(VALID)}"
    # Now and then as long as the language takes, which is where time is spent.
    return (text + " ") * rng.randrange(2, 400) if rng.random() < 0.002 else text


def check(text: str, syntax: str, outcome: Outcome) -> None:
    began = time.thread_time()
    try:
        query = parse(text, syntax=syntax)  # type: ignore[arg-type]
        spent_ms = (time.thread_time() - began) * 1000
        outcome.accepted += 1
        if parse(to_text(query)) != query:
            outcome.failures.append(f"round trip: {text!r}")
    except QueryError as error:
        spent_ms = (time.thread_time() - began) * 1000
        outcome.refused += 1
        if error.column is None or not 1 <= error.column <= len(text) + 1:
            outcome.failures.append(f"column {error.column}: {text!r}")
    except Exception as error:
        spent_ms = 0.0
        outcome.failures.append(f"{type(error).__name__}: {error}: {text!r}")
    if outcome.took(spent_ms):
        outcome.slowest_input = ascii(text)[:200]


def run(count: int, seed: int, progress: bool = False) -> Outcome:
    outcome = Outcome(count, seed)
    check(" ".join(VALID[:-1]), "tidings", Outcome(1, 0))  # loads what is loaded once
    gc.collect()
    gc.freeze()  # or collecting it counts as the time of some query

    def one(number: int, rng: random.Random) -> None:
        if number < len(HARD):
            check(HARD[number], "tidings", outcome)
        else:
            check(one_input(rng), "padres" if rng.random() < 0.1 else "tidings", outcome)

    throw(outcome, one, progress)
    if progress:
        _largest(outcome)
    return outcome


def _largest(outcome: Outcome) -> None:
    for text in VALID[:-1]:
        Engine().subscribe(text)  # loads what is loaded once
    for text in LARGEST:
        engine = Engine()
        for name, act in (("largest_ms", parse), ("subscribed_ms", engine.subscribe)):
            began = time.thread_time()
            try:
                act(text)
            except QueryError:
                pass
            except Exception as error:
                outcome.failures.append(f"{type(error).__name__}: {error}: {text[:200]!r}")
            spent_ms = round((time.thread_time() - began) * 1000, 3)
            setattr(outcome, name, max(spent_ms, getattr(outcome, name)))


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
