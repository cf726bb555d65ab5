"""How many posts a second does Lucene Monitor match against the same queries, and does it find the same matches?

Lucene gets what tidings' index gets: analysed terms. A small Java program in ``benchmarks/lucene_java`` registers the
queries, warms up and times passes over the posts on one thread; it is built with Maven when it is first needed.
Queries and posts are numbered by their place in what the caller gives, from 0.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tidings.model import DataError

PROJECT = Path(__file__).with_name("lucene_java")
_JAR = Path("target") / "lucene-peer.jar"
_GRID_DEGREES = {90: 180 / 2**32, 180: 360 / 2**32}
_HOW_TO_INSTALL = (
    "the peer benchmark needs a JDK 17 or newer and Maven 3.8 or newer "
    "(Debian, Ubuntu: sudo apt install openjdk-17-jdk-headless maven; macOS: brew install openjdk@17 maven)"
)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in degrees, borders included, and words: all of them or, with ``any_of``, at least one."""

    west: float
    south: float
    east: float
    north: float
    words: Sequence[str] = ()
    any_of: bool = False


@dataclass(frozen=True, slots=True)
class PlacedPost:
    lon: float
    lat: float
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    attribute: str
    operator: Literal["<", "<=", ">", ">="]
    number: float


@dataclass(frozen=True, slots=True)
class StockQuery:
    """Terms such as ``symbol=YHOO``, all required, and at most one comparison."""

    terms: Sequence[str]
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """Terms such as ``symbol=YHOO`` and numbers by attribute; NaN stands for none."""

    terms: Sequence[str]
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Settings:
    """How Lucene Monitor is run.

    It is given ``batch`` posts at a time. With ``passes`` above 1 a query becomes a candidate if the batch has so many
    of its rarest terms, instead of one; with 0, Monitor is as it comes and knows nothing of frequencies. After
    ``warmup_s`` of matching, the fastest of ``rounds`` passes over the posts counts; on a busy machine the compiler of
    the JVM needs some ten seconds.
    """

    batch: int = 1
    passes: int = 1
    warmup_s: float = 10.0
    rounds: int = 3
    heap_mb: int = 4096


@dataclass(frozen=True, slots=True)
class Outcome:
    """What Lucene Monitor of version ``lucene`` found and how long it took; ``candidates`` counts the queries it ran.

    Seconds and posts/s are of matching alone, by the clock; ``matching_cpu_s`` is what the matching thread used of it,
    without the JVM's collector and compiler. ``pairs``, if asked for, is int64[matches, 2] of (post, query), sorted.
    """

    lucene: str
    queries: int
    posts: int
    matches: int
    candidates: int
    registration_s: float
    matching_s: float
    matching_cpu_s: float
    posts_per_s: float
    pairs: npt.NDArray[np.int64] | None = field(default=None, compare=False, repr=False)


def match_words(
    queries: Iterable[Sequence[str]],
    posts: Iterable[Sequence[str]],
    settings: Settings | None = None,
    *,
    pairs: bool = False,
) -> Outcome:
    """Each query is a set of words that are all required, each post a set of words.

    Two passes are what we found fastest for one post at a time; large batches are faster still, and answer later.
    """
    return _run("words", map(_word_query_line, queries), map(_words_line, posts), settings or Settings(passes=2), pairs)


def match_boxes(
    queries: Iterable[Box], posts: Iterable[PlacedPost], settings: Settings | None = None, *, pairs: bool = False
) -> Outcome:
    """Lucene keeps degrees on a grid; of borders it is exact only where all coordinates are :func:`on_grid`."""
    return _run("boxes", map(_box_line, queries), map(_placed_line, posts), settings or Settings(), pairs)


def match_stock(
    queries: Iterable[StockQuery], posts: Iterable[Quote], settings: Settings | None = None, *, pairs: bool = False
) -> Outcome:
    """Equalities are terms and are compared as text, numbers as float64."""
    return _run("stock", map(_stock_line, queries), map(_quote_line, posts), settings or Settings(), pairs)


def on_grid(degrees: npt.ArrayLike, limit: Literal[90, 180]) -> npt.NDArray[np.float64]:
    """Degrees up to ``limit`` (90: latitude, 180: longitude) as Lucene keeps them: at most 1e-7 less.

    >>> float(on_grid(151.2, 180)), float(on_grid(on_grid(151.2, 180), 180))
    (151.1999999731779, 151.1999999731779)
    """
    step = _GRID_DEGREES[limit]
    cells = np.floor(np.asarray(degrees, dtype=np.float64) / step)
    return np.minimum(cells, 2.0**31 - 1) * step


def build(project: Path = PROJECT) -> Path:
    """The jar of the Java program; made with Maven unless it is newer than its sources."""
    pom, jar = project / "pom.xml", project / _JAR
    if not pom.is_file():
        raise DataError(
            f"there is no Maven project {str(project)!r}: the peer benchmark needs the sources; "
            "run it from a checkout of tidings (make setup)"
        )
    sources = [pom, *project.glob("src/**/*.java")]
    if not jar.is_file() or jar.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        command = [_program("mvn"), "--quiet", "--batch-mode", "package"]
        built = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        if built.returncode:
            raise DataError(f"Maven could not build {str(project)!r}: {_first_error(built.stdout)}; {_HOW_TO_INSTALL}")
    return jar


def _run(mode: str, queries: Iterable[str], posts: Iterable[str], settings: Settings, pairs: bool) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="tidings-lucene-") as name:
        folder = Path(name)
        _write(folder / "queries", queries)
        _write(folder / "posts", posts)
        options: dict[str, object] = {
            "mode": mode,
            "queries": folder / "queries",
            "posts": folder / "posts",
            "batch": settings.batch,
            "passes": settings.passes,
            "warmup_s": settings.warmup_s,
            "rounds": settings.rounds,
        }
        if pairs:
            options["pairs"] = folder / "pairs"
        figures = _java_run(build(), settings.heap_mb, options)
        return Outcome(**figures, pairs=_pairs(folder / "pairs") if pairs else None)


def _java_run(jar: Path, heap_mb: int, options: Mapping[str, object]) -> dict[str, Any]:
    """What the program prints. The serial collector: Lucene, like tidings, is measured on one core."""
    flags = [f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", "-XX:+UseSerialGC"]
    command = [_java(), *flags, "-jar", str(jar), *(f"{key}={value}" for key, value in options.items())]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise DataError(f"Lucene failed with {dict(options)}: {ran.stderr.strip()[:1000]}")
    figures: dict[str, Any] = json.loads(ran.stdout)
    return figures


def _pairs(path: Path) -> npt.NDArray[np.int64]:
    found = np.array(path.read_text(encoding="ascii").split(), dtype=np.int64).reshape(-1, 2)
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def _write(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(line + "\n" for line in lines)


def _line(*head: object, terms: Sequence[str]) -> str:
    for term in terms:
        if any(c in term for c in "\t\n\r"):
            raise DataError(f"a term has no tab and no line break, got {term!r}")
    return "\t".join([*map(str, head), *terms])


def _query_line(*head: object, terms: Sequence[str]) -> str:
    if "" in terms:
        raise DataError(f"Lucene has no empty term, and a query asks for one: {list(terms)}; leave the query out")
    return _line(*head, terms=terms)


def _post_line(*head: object, terms: Sequence[str]) -> str:
    """Without empty terms (Porter's stem of "s" is one), for which no query can ask."""
    return _line(*head, terms=[term for term in terms if term])


def _word_query_line(words: Sequence[str]) -> str:
    if not words:
        raise DataError("a query for no word matches every post by definition and none in Lucene; leave it out")
    return _query_line(terms=words)


def _words_line(words: Sequence[str]) -> str:
    return _post_line(terms=words)


def _box_line(box: Box) -> str:
    if box.any_of and not box.words:
        raise DataError(f"any of no words matches nothing; leave any_of out of {box}")
    bounds = (float(bound) for bound in (box.west, box.south, box.east, box.north))
    return _query_line(*bounds, "any" if box.any_of else "all", terms=box.words)


def _placed_line(post: PlacedPost) -> str:
    return _post_line(float(post.lon), float(post.lat), terms=post.words)


def _stock_line(query: StockQuery) -> str:
    asked = query.comparison
    if asked is None and not query.terms:
        raise DataError("a stock query has a term or a comparison, or both; this one has neither")
    comparison = f"{_name(asked.attribute)} {asked.operator} {float(asked.number)}" if asked else ""
    return _query_line(comparison, terms=query.terms)


def _quote_line(quote: Quote) -> str:
    numbers = (f"{_name(name)}={float(number)}" for name, number in quote.numbers.items() if not math.isnan(number))
    return _post_line(" ".join(numbers), terms=quote.terms)


def _name(attribute: str) -> str:
    if not attribute or "=" in attribute or any(c.isspace() for c in attribute):
        raise DataError(f"an attribute's name has no space and no '=', got {attribute!r}")
    return attribute


def _java() -> str:
    """The Java that Maven would use, so that what one compiles the other can run."""
    home = os.environ.get("JAVA_HOME")
    return _program(str(Path(home) / "bin" / "java") if home else "java")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise DataError(f"there is no program {name!r}; {_HOW_TO_INSTALL}")
    return found


def _first_error(log: str) -> str:
    lines = [line for line in log.splitlines() if "ERROR" in line] or log.splitlines() or ["it printed nothing"]
    return lines[0].strip()[:500]
