"""What is written where in a query? Recursive descent over the text, a method for each rule of the grammar::

    any   = all {"OR" all}
    all   = one {["AND"] one}
    one   = {"NOT" | "-"} atom
    atom  = "(" any ")" | word ["*"] | tag | quoted ["~" number] | ("has:" | "_exists_:") (name | quoted)
          | "any:" list(word | quoted ["~" number])
          | (name | quoted) ":" list(value) | "topic:" list(path) | "bounding_box:" place | "point_radius:" place
          | "polygon:" (part | "(" part {"," part} ")")
    list  = item | "(" item {"OR" item} ")", of words "(" item {["OR"] item} ")"
    value = [part] {mark [part]} | "/" pattern "/" ["i"] | (">" | ">=" | "<" | "<=") bare
          | ("[" | "{") bound "TO" bound ("]" | "}")
    part  = ["i"] quoted | bare
    mark  = "*" | "?"
    place = "[" number {[","] number} "]"
    part  = "(" ring {"," ring} ")"
    ring  = "(" number number {"," number number} ")"

Space may stand between tokens, but not between the parts of a value. Where several could stand, the first alternative
of the pattern counts. An error in the meaning of a condition gives way to a sign right behind it that cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from tidings.analysis import TEXT, Fields
from tidings.language import builder
from tidings.language.builder import Token, at, text_of
from tidings.language.polygons import check_rings
from tidings.language.scanner import Scanner, signs
from tidings.model import query as tree
from tidings.model.errors import QueryError
from tidings.model.habits import word_habit
from tidings.model.names import ATTRIBUTE_NAME
from tidings.model.query import And, Not, Or, Query
from tidings.model.region import Polygon, Ring
from tidings.model.tags import is_tag

T = TypeVar("T")

NO_FIELDS = Fields()
_QUOTED = r"""(?P<QUOTED>(?s:"(?:\\.|[^"\\])*"|[“„](?:\\.|[^“”„\\])*[”“]))"""
_BARE = r"""(?P<BARE>[^\s()\[\]{}"“”„*]+)"""
_LAST_STAR = r"(?P<STAR>\*(?=[\s()\[\]{}]|$))"
_AND, _OR, _NOT = (rf"""(?P<{word}>{word}(?=[\s()"“”„]|$))""" for word in ("AND", "OR", "NOT"))

_SIGN = signs(
    *(_NOT, _AND, _OR),
    *(rf"(?P<{name}>{name}:)" for name in ("bounding_box", "point_radius", "polygon", "topic", "any")),
    r"(?P<has>(?:has|_exists_):)",
    rf"(?P<FIELD>{ATTRIBUTE_NAME}):",
    r"""(?P<QUOTED_FIELD>(?s:"(?:\\.|[^"\\])*")):(?=\S)""",
    rf"(?P<PREFIX>{tree.BARE_WORD}\*(?=[\s()]|$))",
    rf"(?P<WORD>{tree.BARE_WORD})",
    _QUOTED,
    r"(?P<MINUS>-(?=[^\s)\-]))|(?P<OPEN>\()|(?P<CLOSE>\))|(?P<END>\Z)",
)
_WORDS = signs(_QUOTED, rf"(?P<WORD>{tree.BARE_WORD})")
_SLOP = signs(r"~(?P<SLOP>[0-9]{1,9})")
_LIST = signs(r"(?P<OPEN>\()")
_LIST_GOES_ON = signs(_OR, r"(?P<CLOSE>\))")
_STAR_OR_ONE = r"(?P<STAR>\*)|(?P<ONE>\?)"
_PARTS = (
    _QUOTED,
    r"""(?P<FOLDED>(?s:i"(?:\\.|[^"\\])*"|i[“„](?:\\.|[^“”„\\])*[”“]))""",
    r"""(?P<BARE>[^\s()\[\]{}"“”„*?]+)""",
    _STAR_OR_ONE,
)
_REGEX = r"(?P<REGEX>(?s:/(?:\\.|[^/\\])+/i?)(?=[\s()]|$))"
_VALUE = signs(r"(?P<COMPARE>>=|<=|>|<)", _REGEX, *_PARTS, r"(?P<OPEN>[\[{])")
_PART, _MARK = re.compile("|".join(_PARTS)), re.compile(_STAR_OR_ONE)
_LATE_STAR = signs(_LAST_STAR)
_LATE_RANGE = signs(r"(?P<TO>TO)\s+[-0-9*]")
_BARE_VALUE = signs(_BARE)
_NAME = signs(_QUOTED, r"(?P<BARE>[^\s()\[\]{}\"“”„*]+)")
_HABITS_OF_PREFIXES = re.compile(r"[?（）#＃$/]")
_BOUND = signs(_LAST_STAR, _BARE)
_TO = signs(r"(?P<TO>TO(?=\s))")
_RANGE_END = signs(r"(?P<CLOSE>[\]}])")
_PATH = signs(_QUOTED, r"""(?P<PATH>[^\s()\[\]{}"“”„]+)""")
_RING = signs(r"(?P<RING>\([^()\[\]{}\"“”„]*\))")
_SHAPE_GOES_ON = signs(r"(?P<COMMA>,)|(?P<CLOSE>\))")
_PLACE = signs(r"(?P<OPEN>\[)")
_COORDINATE = signs(r"""(?P<COORDINATE>[^\s,()\[\]{}"“”„]+)""")
_COMMA = signs(r"(?P<COMMA>,)")
_SHAPE_EXPECTED = "a ring, as in polygon:((150 -34, 151 -34, 151 -33))"
_PLACE_END = signs(r"(?P<CLOSE>\])")


class QueryReader(Scanner):
    """Reads one query."""

    _depth = 0
    _in_list = False

    def __init__(self, text: str, fields: Fields = NO_FIELDS, *, strict: bool = True) -> None:
        """``strict``: habits of other languages are refused; without it, what they once meant here is read."""
        super().__init__(text)
        self.fields = fields
        self.strict = strict

    def read(self) -> Query:
        try:
            query = self._any()
        except QueryError:
            if not self.refused:
                self._following()
            raise
        if self.strict:
            self._check_polygons()
        return query

    def _check_polygons(self) -> None:
        """Refuse polygons whose rings cross, unless they were taken once."""
        regions = [(own.region, sign) for own, sign in self.places if isinstance(own, tree.Within)]
        polygons = [(region, sign) for region, sign in regions if isinstance(region, Polygon)]
        if polygons and (crossing := check_rings([region for region, _ in polygons])) is not None:
            number, reason = crossing
            raise QueryError(reason, builder.column(polygons[number][1]))

    def _any(self) -> Query:
        """The rules ``any`` and ``all``, up to the end or to the bracket that closes them."""
        alternatives: list[Query] = []
        joined: list[Query] = []
        sign = self.token(_SIGN, "a word")
        while True:
            joined.append(self._one(sign))
            sign = self._following()
            kind = sign.lastgroup
            if kind in ("END", "CLOSE"):
                break
            if kind == "OR":
                alternatives.append(_joined(And, joined))
                joined = []
            if kind in ("OR", "AND"):
                sign = self.token(_SIGN, "a word")
        if (kind == "CLOSE") != (self._depth > 0):
            self.position = sign.start()
            raise self.refusal("')'" if self._depth else "the end", may_end=not self._depth)
        return _joined(Or, [*alternatives, _joined(And, joined)])

    def _following(self) -> Token:
        """The sign behind a condition."""
        if self._in_list:
            return self.token(_SIGN, "OR or ')'")
        return self.token(_SIGN, "a word", may_end=not self._depth)

    def _one(self, sign: Token) -> Query:
        negations = []
        while sign.lastgroup in ("NOT", "MINUS"):
            negations.append(sign)
            sign = self.token(_SIGN, "a word")
        query = self._atom(sign)
        while negations:
            query = Not(query)
            self.places.append((query, negations.pop()))
        return query

    def _atom(self, sign: Token) -> Query:
        match sign.lastgroup:
            case "WORD" if is_tag(text_of(sign)):
                return self._placed(sign, tree.Tag, text_of(sign))
            case "WORD" | "AND" | "OR":
                was_taken = not self.strict and word_habit(text_of(sign)) is not None
                return self._placed(sign, tree.Phrase if was_taken else tree.Word, text_of(sign))
            case "FIELD" | "QUOTED_FIELD":
                name = builder.unquoted(sign)
                conditions = self._listed(self._value, beside=self.fields.kind(name) == TEXT)
                return _joined(
                    Or, [_joined(And, [self._placed(sign, build, name) for build in all_of]) for all_of in conditions]
                )
            case "any":
                words = self._listed(self._words, beside=True)
                return _joined(
                    Or, [_joined(And, [self._placed(sign, tree.Anywhere, *own) for own in all_of]) for all_of in words]
                )
            case "bounding_box" | "point_radius" | "polygon":
                return self._region(sign)
            case "OPEN":
                return self._group()
            case "QUOTED":
                slop = self.maybe(_SLOP)
                return self._placed(sign, tree.Phrase, builder.unquoted(sign), int(text_of(slop)) if slop else 0)
            case "PREFIX":
                return self._placed(sign, tree.Prefix, self._beginning(text_of(sign)[:-1]))
            case "has":
                asked = self.token(_NAME, "the name of an attribute")
                return self._placed(sign, at, asked, builder.present, asked)
            case "topic":
                paths = self._listed(lambda: self.token(_PATH, "a topic like sports/soccer"))
                steps = [(path, tuple(builder.unquoted(path).split("/"))) for [path] in paths]
                return _joined(Or, [self._placed(sign, at, path, tree.Topic, own) for path, own in steps])
            case _:
                self.position = sign.start()
                raise self.refusal("a word")

    def _group(self) -> Query:
        """What stands in brackets, of which the first is read."""
        self._depth += 1
        query = self._any()
        self._depth -= 1
        if self.strict and self.text.startswith("@", self.position):
            raise QueryError("there is no least number of words; a space stands before @name", self.position + 1)
        return query

    def _beginning(self, text: str) -> str:
        """The beginning of a word, without the habits in it that were taken once."""
        return text if self.strict or not word_habit(text) else _HABITS_OF_PREFIXES.sub("", text)

    def _listed(self, item: Callable[[], T], beside: bool = False) -> list[list[T]]:
        """The alternatives of a list; with ``beside`` each is one or several items side by side."""
        if not self.maybe(_LIST):
            return [[item()]]
        self._in_list = True
        items = [[item()]]
        while True:
            if beside and not _LIST_GOES_ON.match(self.text, self.position):
                items[-1].append(item())
            elif self.token(_LIST_GOES_ON, "OR or ')'").lastgroup == "OR":
                items.append([item()])
            else:
                break
        self._in_list = False
        return items

    def _words(self) -> tuple[str, int]:
        """A word or a phrase that is looked for anywhere, and its slop."""
        words = self.token(_WORDS, 'a word or a phrase, as in any:fire or any:"white house"')
        if words.lastgroup == "WORD" and (habit := word_habit(text_of(words))):
            raise QueryError(habit, builder.column(words))
        slop = self.maybe(_SLOP) if words.lastgroup == "QUOTED" else None
        return builder.unquoted(words), int(text_of(slop)) if slop else 0

    def _value(self) -> builder.Condition:
        first = self.token(_VALUE, "a value")
        if first.lastgroup == "COMPARE":
            return builder.compare(first, self.token(_BARE_VALUE, "a value"))
        if first.lastgroup == "OPEN":
            low = self.token(_BOUND, "a value")
            self.token(_TO, "TO, as in [10 TO 20]")
            high = self.token(_BOUND, "a value")
            return builder.interval(first, low, high, self.token(_RANGE_END, "']' or '}'"))
        if first.lastgroup == "REGEX":
            return builder.regex(first, self.strict)
        parts = [first]
        while part := self.maybe(_PART if parts[-1].lastgroup in builder.MARKS else _MARK):
            parts.append(part)
        if len(parts) == 1 and first.lastgroup == "QUOTED" and (slop := self.maybe(_SLOP)):
            return builder.near(first, slop)
        if self.strict and first.lastgroup == "BARE" and (late := _LATE_RANGE.match(self.text, self.position)):
            raise QueryError("a range has brackets, as in price:[10 TO 20]", late.start("TO") + 1)
        if star := self.maybe(_LATE_STAR):
            raise QueryError("a '*' touches the text that it completes, as in name:Mc*", builder.column(star))
        return builder.value(parts, self.strict)

    def _region(self, sign: Token) -> Query:
        if sign.lastgroup == "polygon":
            self.token(_LIST, _SHAPE_EXPECTED)
            parts = [self._rings()] if _RING.match(self.text, self.position) else self._separated(self._part)
            return self._placed(sign, builder.polygon, parts)
        build = builder.box if sign.lastgroup == "bounding_box" else builder.circle
        return self._placed(sign, build, sign, self._coordinates())

    def _coordinates(self) -> list[Token]:
        self.token(_PLACE, "'[', as in bounding_box:[150.5 -34.2 151.4 -33.4] or point_radius:[151.2 -33.9 16km]")
        found = [self.token(_COORDINATE, "a number or ']'")]
        while not self.maybe(_PLACE_END):
            self.maybe(_COMMA)
            found.append(self.token(_COORDINATE, "a number or ']'"))
        return found

    def _part(self) -> list[Ring]:
        self.token(_LIST, _SHAPE_EXPECTED)
        return self._rings()

    def _rings(self) -> list[Ring]:
        """The rings of a part, whose bracket is open."""
        return self._separated(lambda: builder.ring(self.token(_RING, _SHAPE_EXPECTED)))

    def _separated(self, item: Callable[[], T]) -> list[T]:
        """Items with commas between them, up to the bracket that closes them."""
        items = [item()]
        while self.token(_SHAPE_GOES_ON, "',' or ')'").lastgroup == "COMMA":
            items.append(item())
        return items

    def _placed(self, first: Token, build: Callable[..., Query], *arguments: Any) -> Query:
        """Build the condition that begins with ``first`` and ends here."""
        query = at(first, build, *arguments)
        self.places.append((query, first))
        return query


def _joined(kind: type[And] | type[Or], parts: list[Query]) -> Query:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))
