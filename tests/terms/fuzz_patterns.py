"""Throws hostile regular expressions and wildcards at the language and at the finder: refused, or bounded in time.

    python tests/terms/fuzz_patterns.py --count 1000000 --report docs/results/fuzz-patterns.json

Nested quantifiers, huge classes, empty matches, long counts, rows of wildcards. Each is parsed, put into a finder, and
asked of hostile values of up to 1,000 characters; all of that together has the limit of time. Short values are decided
by definition as well, and both must agree. Time is CPU time of this thread.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from dataclasses import dataclass

from tests.fuzzing import Seen, main, throw
from tidings.language import parse
from tidings.language.atoms import has_piece
from tidings.model import QueryError
from tidings.model.query import Contains, EndsWith, Piece, Regex, StartsWith, Wildcard
from tidings.terms.finding.finder import Finder

HARD = (
    "/(a+)+$/", "/((a*)*)*/", "/(a|a)*b/", "/(a|aa)+$/", "/(.*)*(.*)*(.*)*x/", "/" + "(" * 50 + "a*" + ")*" * 50 + "/",
    "/" + "a?" * 500 + "a" * 500 + "/", "/(a{1,30}){1,30}/", "/((a{0,9}){0,9}){0,9}/", "/(.{1,999})x/i", "/.*a.{999}/",
    r"/[\x{0}-\x{10FFFF}]*x/i", r"/[^\w\W]*/", "/" + "[^a]" * 250 + "/i", "/" + "|".join("abcdefgh" * 60) + "/",
    r"/(\b)*(\B)*($)*(^)*/", "/()/", "/()*/", "/(|a|)*/", "/(?i)" + "ß" * 500 + "/", "/" + "[a-zÀ-ʯ]" * 110 + "/i",
    r"/(\w+\s*)*!/", r"/.*" + r"\d.*" * 200 + "/", "/(x+x+)+y/", "/" + "(?:" * 40 + "x" + "{0,2})" * 40 + "/",
    "*a" * 400 + "*", "a?" * 400 + "b", "?" * 500, "*" + "?a" * 300 + "*", "*a*a*a*a*a*a*a*b", "?" * 200 + "*x",
    'i"' + "ﬃ" * 300 + '"*b', "*" + "aaaaaaab*" * 90,
)  # fmt: skip
_ATOMS = (
    *(
        "a",
        "b",
        "x",
        "aa",
        "aab",
        ".",
        r"\w",
        r"\d",
        r"\s",
        r"\W",
        "[a-z]",
        "[^a]",
        "[^\\n]",
        "[A-Za-z0-9_]",
        "[^a-zÀ-ÿ]",
    ),
    *(r"[\x{0}-\x{10FFFF}]", r"[\x{100}-\x{FFFF}]", "ß", "é", "白", "", "()", "^", "$", r"\b", r"\B", "(?i)", "(?s)."),
    *(r"\/", r"\.", "[^a-zÀ-ÿ]"),
)
_COUNTS = ("", "", *"*+?", "*?", "+?", "**", "{0}", "{2}", "{1,}", "{0,9}", "{30}", "{1,99}", "{999}", "{,3}", "{9,2}")
_BROKEN = (*"()[]{|\\*", "(?=a)", "(?<!b)", r"\1", "(?P<n>a)", "[[:alpha:]]", "[z-a]", "\\Q")
_LETTERS = "aaaaaabxy zAB19ßé白\n"


@dataclass
class Outcome(Seen):
    """What a run saw, and which input took longest."""

    compared: int = 0
    slowest_input: str = ""


def expression(rng: random.Random, depth: int = 0) -> str:
    """A random regular expression of few or many parts, often one inside another."""
    parts = []
    for _ in range(rng.randrange(1, 5)):
        inner = depth < 6 and rng.random() < 0.45
        body = f"({rng.choice(('', '?:', '?i:'))}{expression(rng, depth + 1)})" if inner else rng.choice(_ATOMS)
        parts.append(body + rng.choice(_COUNTS))
        if rng.random() < 0.15:
            parts.append("|")
        if rng.random() < 0.02:
            parts.append(rng.choice(_BROKEN))
    made = "".join(parts)
    return made * rng.randrange(2, 200) if depth == 0 and rng.random() < 0.02 else made


def wildcard(rng: random.Random) -> str:
    signs = ("*", "?", "?", "a", "b", "aa", "ab", '"a b"', 'i"ß"', "x", "é")
    made = "".join(rng.choice(signs) for _ in range(rng.randrange(1, 12)))
    return made * rng.randrange(2, 100) if rng.random() < 0.02 else made


def values(rng: random.Random) -> tuple[str, str, str]:
    """A short value, and two long ones: of one letter, and of a few."""
    short = "".join(rng.choice(_LETTERS) for _ in range(rng.randrange(12)))
    return short, rng.choice("aab白") * 1_000, "".join(rng.choice("aab ") for _ in range(100)) * 5 + "!"


def check(text: str, rng: random.Random, outcome: Outcome) -> None:
    own = values(rng)
    began = time.thread_time()
    try:
        piece = parse(f"name:{text}")
        finder = Finder()
        is_piece = isinstance(piece, StartsWith | EndsWith | Contains | Wildcard | Regex)
        found = _found(finder, piece, own) if is_piece else ()  # type: ignore[arg-type]
        spent_ms = (time.thread_time() - began) * 1000
        outcome.accepted += 1
        if is_piece:
            outcome.compared += 1
            if has_piece(piece, own[0]) != (own[0] in found):  # type: ignore[arg-type]
                outcome.failures.append(f"{own[0]!r}: {text!r}")
    except QueryError:
        spent_ms = (time.thread_time() - began) * 1000
        outcome.refused += 1
    except Exception as error:
        spent_ms = 0.0
        outcome.failures.append(f"{type(error).__name__}: {error}: {text!r}")
    if outcome.took(spent_ms):
        outcome.slowest_input = ascii(text)[:200]


def _found(finder: Finder, piece: Piece, own: tuple[str, ...]) -> tuple[str, ...]:
    """The values that the finder finds a piece in."""
    finder.put(piece, 1)
    return tuple(text for text in own if finder.of_text(text))


def run(count: int, seed: int, progress: bool = False) -> Outcome:
    outcome = Outcome(count, seed)
    check("/(?i)a.*b/", random.Random(0), Outcome(1, 0))  # loads what is loaded once
    gc.collect()
    gc.freeze()  # or collecting it counts as the time of some pattern

    def one(number: int, rng: random.Random) -> None:
        if number < len(HARD):
            check(HARD[number], rng, outcome)
        elif rng.random() < 0.75:
            check(f"/{expression(rng)}/{rng.choice(('', 'i'))}", rng, outcome)
        else:
            check(wildcard(rng), rng, outcome)

    throw(outcome, one, progress)
    return outcome


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
