"""How many publications a second meet beginnings, ends and parts of attributes, and Sigma's rules on real events?"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer

from benchmarks.commands.options import MADE_UP, HowToPrint, Rounds, Save, Seed, kept
from benchmarks.sigma_trees import tree_query
from tidings.cli.format import Format
from tidings.engine import Engine
from tidings.language import parse, to_text
from tidings.model import DataError, QueryError

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_VALUE_CHARS, _PIECE_CHARS = 20, (4, 7)
_CHECKED = 300
_OPERATORS = {
    "eq": "name:{}",
    "str-prefix": "name:{}*",
    "str-suffix": "name:*{}",
    "str-postfix": "name:*{}",
    "str-contains": "name:*{}*",
}
"""The operators of PADRES on text, and what they are here."""


def pieces(  # each is an option
    *,
    beginnings: Annotated[int, typer.Option(min=1, help="How many ask for a beginning; as many for an end.")] = 10_000,
    parts: Annotated[int, typer.Option(min=1, help="How many ask for a part.")] = 100_000,
    publications: Annotated[int, typer.Option(min=1, help="How many values of 20 characters are published.")] = 100_000,
    rounds: Rounds = 5,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Beginnings and ends together, then parts, on random values that are all different: publications a second.

    Then all operators of PADRES on text, as triples and in our own language, in turns.
    """
    from benchmarks.printing import print_figures

    rng = random.Random(seed)
    values = ["".join(rng.choices(_LETTERS, k=_VALUE_CHARS)) for _ in range(publications)]
    ends = [f"name:{_piece(rng)}*" for _ in range(beginnings)] + [f"name:*{_piece(rng)}" for _ in range(beginnings)]
    figures = {
        "beginnings_and_ends": 2 * beginnings,
        **_named("ends", measure(ends, values, rounds)),
        "parts": parts,
        **_named("parts", measure([f"name:*{_piece(rng)}*" for _ in range(parts)], values, rounds)),
        **triples(rng, beginnings, values, rounds),
    }
    print_figures(kept("pieces", f"{MADE_UP}: values of {_VALUE_CHARS} letters", seed, save, figures), output_format)


def sigma(
    data: Annotated[Path, typer.Option(help="Folder with sigma_rules.parquet and sigma_events.parquet.")],
    rounds: Rounds = 5,
    rows: Annotated[int, typer.Option(min=1, help="How many events a round has; the file is repeated.")] = 50_000,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Sigma's rules for new processes over events: exactly the pairs of the file first, then events a second."""
    from benchmarks.printing import print_figures

    rules = pq.read_table(data / "sigma_rules.parquet").to_pylist()
    everything = said_rules(rules)
    said = {name: everything[name] for name in process_rules(rules) if name in everything}
    events = pq.read_table(data / "sigma_events.parquet")
    posts = events.drop_columns(["rules"])
    engine = Engine()
    engine.subscribe_many(pa.table({"id": [*said], "query": [*said.values()]}))
    pairs = {(row["id"], name) for row in events.to_pylist() for name in row["rules"] if name in said}
    if {(match.publication_id, match.subscription_id) for match in engine.match(posts)} != pairs:
        raise DataError("the index does not find the pairs of the file")
    many = pa.concat_tables([posts] * (rows // posts.num_rows + 1)).slice(0, rows)
    many = many.set_column(many.column_names.index("id"), "id", pa.array([str(n) for n in range(rows)]))
    single = [{name: value for name, value in row.items() if value is not None} for row in posts.to_pylist()]
    figures = {
        "all_rules": len(rules),
        "all_said": len(everything),
        "rules": len(said),
        "events": posts.num_rows,
        "pairs": len(pairs),
        **_named("events", _speeds(lambda: engine.match(many), rows, rounds)),
        **_named("published", _speeds(lambda: [engine.publish(**row) for row in single], len(single), rounds)),
    }
    print_figures(kept("sigma", "sigma_rules and sigma_events", None, save, figures), output_format)


def process_rules(rules: list[dict[str, Any]]) -> list[str]:
    """The ids of the rules for new processes on Windows."""
    return [rule["id"] for rule in rules if (rule["category"], rule["product"]) == ("process_creation", "windows")]


def said_rules(rules: list[dict[str, Any]]) -> dict[str, str]:
    """The rules that can be said, as queries by their ids."""
    said = {}
    for rule in rules:
        try:
            text = to_text(tree_query(json.loads(rule["tree"])))
            parse(text)
        except QueryError:
            continue
        said[rule["id"]] = text
    return said


def triples(rng: random.Random, each: int, values: list[str], rounds: int) -> dict[str, Any]:
    """Every operator of PADRES on text, as often as each other: how fast, and how many times as fast as our own."""
    asked = [(operator, own, _piece(rng)) for _ in range(each) for operator, own in _OPERATORS.items()]
    table = pa.table({"id": [str(n) for n in range(len(values))], "name": values})
    sides, found = [], []
    for queries in (
        [parse(f"[name,{operator},'{piece}']", syntax="padres") for operator, _, piece in asked],
        [parse(own.format(piece)) for _, own, piece in asked],
    ):
        engine = Engine()
        engine.subscribe_many(
            pa.table({"id": [str(n) for n in range(len(queries))], "query": [to_text(one) for one in queries]})
        )
        found.append(len(engine.match(table)))
        sides.append(engine)
    if len({*found}) > 1:
        raise DataError("triples do not find what our own language finds")
    taken: list[list[float]] = [[], []]
    for turn in range(2 * rounds):
        side = turn % 2 ^ (turn // 2 % 2)
        began = time.perf_counter()
        sides[side].match(table).table()
        taken[side].append(time.perf_counter() - began)
    ratios = [own / padres for padres, own in zip(*taken, strict=True)]
    return {
        "triples": len(asked),
        "triples_per_second": round(len(values) / median(taken[0])),
        "triples_matches": found[0],
        "triples_to_own": round(median(ratios), 3),
    }


def measure(queries: list[str], values: list[str], rounds: int) -> dict[str, Any]:
    """Publications a second, with the names of their matches; some are compared with Python's own operators first."""
    engine = Engine()
    engine.subscribe_many(pa.table({"id": [str(n) for n in range(len(queries))], "query": queries}))
    _check(engine, queries, values[:_CHECKED])
    table = pa.table({"id": [str(n) for n in range(len(values))], "name": values})
    return {**_speeds(lambda: engine.match(table).table(), len(values), rounds), "matches": len(engine.match(table))}


def _check(engine: Engine, queries: list[str], values: list[str]) -> None:
    table = pa.table({"id": values, "name": values})
    found = {(match.publication_id, match.subscription_id) for match in engine.match(table)}
    column = pa.array(values)
    expected = set()
    for number, query in enumerate(queries):
        written = query.removeprefix("name:")
        piece, begins, ends = written.strip("*"), not written.startswith("*"), not written.endswith("*")
        holds = pc.starts_with if begins else pc.ends_with if ends else pc.match_substring
        expected |= {(value, str(number)) for value in column.filter(holds(column, piece)).to_pylist()}
    if found != expected:
        raise DataError("the index does not find what Arrow finds")


def _piece(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=rng.randint(*_PIECE_CHARS)))


def _speeds(once: Any, count: int, rounds: int) -> dict[str, Any]:
    once()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        once()
        taken.append(time.perf_counter() - began)
    return {"per_second": round(count / median(taken)), "best_per_second": round(count / min(taken))}


def _named(what: str, figures: dict[str, Any]) -> dict[str, Any]:
    return {f"{what}_{name}": value for name, value in figures.items()}
