"""Throws random and mutated text at the query language: nothing but QueryError may come back, and soon.

    python tests/language/fuzz.py --count 1000000 --report docs/results/fuzz-language.json

Half of the inputs are mutations of valid queries, a quarter random strings of the language's own signs, a quarter
random bytes; the first few are made to be slow. Time is CPU time of this thread: other work on the machine does not
count.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import dataclass

from tests.fuzzing import Seen, main, throw
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
    "[class,eq,'STOCK'],[symbol,eq,'YHOO'],[volume,>,300000],[x,isPresent,0]",
)
SIGNS = ("AND", "OR", "NOT", "TO", "-", "(", ")", "[", "]", "{", "}", '"', "“", "”", "~", "*", ":", "..", ">", "<=",
         "^", "&", "\\", "\0", "\ud800", " ", "\n", "a", "fire", "the", "9", "1e999", "nan", "-0", "has:", "topic:",
         "x:", "bounding_box:", "point_radius:", "polygon:((", "km", "/", ",", "'", "@a", "http://x", "白", "é",
         "\u200b", "２")  # fmt: skip

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


@dataclass
class Outcome(Seen):
    """What a run saw, and which input took longest."""

    slowest_input: str = ""


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

    def one(number: int, rng: random.Random) -> None:
        if number < len(HARD):
            check(HARD[number], "tidings", outcome)
        else:
            check(one_input(rng), "padres" if rng.random() < 0.1 else "tidings", outcome)

    throw(outcome, one, progress)
    return outcome


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
