"""Which small changes of the code can be made? Cosmic Ray's operators, over the core, without what cannot matter.

Left out, by rule and never one by one:

- decorators (``cache=True`` of numba, ``frozen=True`` of dataclasses), annotations and imports;
- what only makes a text for people: ``raise``, ``warnings.warn``, ``_log``, f-strings, ``__repr__``;
- ``strict=`` of ``zip``: a check of what is so anyway;
- constants of modules and defaults of fields that are made of literals only (sizes of buffers, seeds of hashes):
  parameters, tuned by measurement.

Of an operator only the nearest changes are made (``<`` to ``<=`` and to ``>=``, ``+`` to ``-``): those of Cosmic Ray
that replace any operator by any other mostly fail at once, and would flatter the tests.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

PACKAGES = (
    *("model", "arrays", "analysis", "language", "tables", "terms", "registry", "index"),
    *("partitioning", "placement", "shedding", "cluster", "engine", "spark"),
)
NEAREST = {
    "ReplaceBinaryOperator": (
        *("Add_Sub", "Sub_Add", "Mul_FloorDiv", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul"),
        *("RShift_LShift", "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr"),
    ),
    "ReplaceComparisonOperator": (
        *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is", "Lt_LtE", "Lt_GtE"),
        *("LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt"),
    ),
    "ReplaceUnaryOperator": ("Delete_USub", "Delete_Invert", "Delete_Not"),
}
OTHERS = (
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer"),
    "ZeroIterationForLoop",
)
OPERATORS = tuple(f"core/{kind}_{change}" for kind, changes in NEAREST.items() for change in changes) + tuple(
    f"core/{name}" for name in OTHERS
)

_SPARK = re.compile(r"^(import|from) pyspark", re.MULTILINE)

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change: the ``occurrence``-th chance of an operator in a file, at ``begin`` (line, column)."""

    file: str
    operator: str
    occurrence: int
    begin: Place

    @property
    def package(self) -> str:
        return Path(self.file).parts[2]

    def code(self, source: str) -> str:
        """The text of the file with the change."""
        changed = mutate_code(source, _operator(self.operator), self.occurrence)
        assert changed is not None and changed != source, self
        return str(changed)


def sampled(root: Path, count: int, seed: int) -> list[Mutant]:
    """A sample: places are drawn, then one of the changes that can be made there.

    Half of the places are drawn from each package alike, so that small ones are seen, and half from all that is left.
    Few are dropped then, because they are no change of what the code does.
    """
    places: dict[tuple[str, Place], list[Mutant]] = {}
    for mutant in (mutant for file in core(root) for mutant in mutants(root, file)):
        places.setdefault((mutant.file, mutant.begin), []).append(mutant)
    rng = random.Random(seed)
    drawn: list[tuple[str, Place]] = []
    for package in PACKAGES:
        own = [place for place in sorted(places) if places[place][0].package == package]
        drawn += rng.sample(own, count // (2 * len(PACKAGES)))
    drawn += rng.sample(sorted(places.keys() - set(drawn)), count - len(drawn))
    return [mutant for place in drawn if not _is_moot(mutant := rng.choice(places[place]), root)]


def core(root: Path) -> list[str]:
    """The files of the core; of the package spark, those that import nothing of Spark."""
    files = [file for package in PACKAGES for file in sorted((root / "src" / "tidings" / package).rglob("*.py"))]
    return [str(file.relative_to(root)) for file in files if not _SPARK.search(file.read_text())]


def mutants(root: Path, file: str) -> Iterator[Mutant]:
    """All changes of a file that count."""
    source = (root / file).read_text()
    hidden = [(begin, end) for begin, end in _left_out(ast.parse(source))]
    nodes = list(ast_nodes(get_ast(source)))
    for name in OPERATORS:
        operator, occurrence = _operator(name), -1
        for node in nodes:
            for begin, _ in operator.mutation_positions(node):
                occurrence += 1
                if not any(first <= begin < last for first, last in hidden):
                    yield Mutant(file, name, occurrence, begin)


def _is_moot(mutant: Mutant, root: Path) -> bool:
    """Whether a change is read by type checkers only, or makes no Python of ``def f(*, a)``."""
    source = (root / mutant.file).read_text()
    line = source.splitlines()[mutant.begin[0] - 1]
    return "TYPE_CHECKING" in line or (line.strip() == "*," and "Mul" in mutant.operator)


def _operator(name: str):  # type: ignore[no-untyped-def]  # Cosmic Ray has no types
    return cosmic_ray.plugins.get_operator(name)()


def _left_out(tree: ast.Module) -> Iterator[tuple[Place, Place]]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name="__repr__") | ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
                yield _span(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="warnings" | "_log"))):
                yield _span(node)
            case ast.keyword(arg="strict"):
                yield _span(node)
            case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
                yield _span(annotation)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from (_span(decorator) for decorator in node.decorator_list)
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield _span(node.returns)
    classes = [node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for statement in chain(tree.body, *classes):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_literal(statement.value):
            yield _span(statement)


def _is_literal(value: ast.expr | None) -> bool:
    """Whether an expression names nothing but what builds numbers, tables of them, or patterns."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} if value is not None else set()
    return names <= {"np", "math", "re", "pa", "frozenset", "datetime", "UTC", "TypeAlias"}


def _span(node: ast.expr | ast.stmt | ast.keyword) -> tuple[Place, Place]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
