import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from tidings.analysis import Analyser
from tidings.language import parse, to_text
from tidings.language.reader import QueryReader
from tidings.model import (
    And,
    Circle,
    Contains,
    EndsWith,
    Equals,
    Not,
    Or,
    Phrase,
    Prefix,
    Present,
    Query,
    QueryError,
    Range,
    Rectangle,
    StartsWith,
    Topic,
    Within,
    Word,
)

white, house, fire, smoke = Word("white"), Word("house"), Word("fire"), Word("smoke")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("white house", And((white, house))),
        ("white AND house", And((white, house))),
        ("fire OR smoke", Or((fire, smoke))),
        ("white house OR fire", Or((And((white, house)), fire))),
        ("white (house OR fire)", And((white, Or((house, fire))))),
        ("fire -smoke", And((fire, Not(smoke)))),
        ("fire NOT smoke", And((fire, Not(smoke)))),
        ("fire -(white OR house)", And((fire, Not(Or((white, house)))))),
        ('"white house"', Phrase("white house")),
        ("“white house”", Phrase("white house")),
        ('"white house"~3', Phrase("white house", 3)),
        (r'"say \"hi\" there"', Phrase('say "hi" there')),
        ("terror*", Prefix("terror")),
        ("symbol:YHOO", Equals("symbol", "YHOO")),
        ("symbol:(YHOO OR GOOG)", Or((Equals("symbol", "YHOO"), Equals("symbol", "GOOG")))),
        ('name:"Mc Donald"', Equals("name", "Mc Donald")),
        ("name:Mc*", StartsWith("name", "Mc")),
        ("name:*son", EndsWith("name", "son")),
        ("name:*art*", Contains("name", "art")),
        ("volume:>300000", Range("volume", low=300000.0, low_included=False)),
        ("volume:>=3e5", Range("volume", low=300000.0)),
        ("volume:<-5", Range("volume", high=-5.0, high_included=False)),
        ("volume:-5", Equals("volume", "-5")),
        ("price:[10 TO 20]", Range("price", 10.0, 20.0)),
        ("price:{10 TO 20}", Range("price", 10.0, 20.0, False, False)),
        ("price:[10 TO 20}", Range("price", 10.0, 20.0, True, False)),
        ("price:[10 TO *]", Range("price", low=10.0)),
        ("price:10..20", Range("price", 10.0, 20.0)),
        ("price:-20..-10.5", Range("price", -20.0, -10.5)),
        ("ts:>=2020-01-02", Range("ts", low=datetime(2020, 1, 2, tzinfo=UTC))),
        ("ts:<=2020-01-02T03:04:05+01:00", Range("ts", high=datetime(2020, 1, 2, 2, 4, 5, tzinfo=UTC))),
        ("has:price", Present("price")),
        ("bounding_box:[150.5 -34.2 151.4 -33.4]", Within(Rectangle(150.5, -34.2, 151.4, -33.4))),
        ("bounding_box:[150.5,-34.2,151.4,-33.4]", Within(Rectangle(150.5, -34.2, 151.4, -33.4))),
        ("point_radius:[151.2 -33.9 16km]", Within(Circle(151.2, -33.9, 16000.0))),
        ("point_radius:[151.2 -33.9 10mi]", Within(Circle(151.2, -33.9, 16093.44))),
        ("topic:sports/soccer", Topic(("sports", "soccer"))),
        ("topic:sports/*/final", Topic(("sports", "*", "final"))),
        ('topic:"arts and crafts/clay"', Topic(("arts and crafts", "clay"))),
        ("ORANGE ANDROID NOTE", And((Word("ORANGE"), Word("ANDROID"), Word("NOTE")))),
        ("  fire\n\tsmoke ", And((fire, smoke))),
    ],
)  # fmt: skip
def test_each_form_of_the_language_is_read(text: str, query: Query) -> None:
    assert parse(text) == query
    assert parse(to_text(query)) == query


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("[class,eq,'STOCK'],[symbol,eq,'YHOO'],[volume,>,300000]", "class:STOCK symbol:YHOO volume:>300000"),
        ("[class,=,‘STOCK’]", "class:STOCK"),
        ("[name,str-prefix,'Mc'] [name,str-suffix,'d'] [name,str-contains,'o']", "name:Mc* name:*d name:*o*"),
        ("[a,<,1],[b,<=,2],[c,>=,3],[d,isPresent,0]", "a:<1 b:<=2 c:>=3 has:d"),
        ("[name,str-postfix,'d']", "name:*d"),
        ("[a,<>,3]", "has:a -a:3"),
        ("[class,eq,'STOCK'],[a,neq,'x y'],[b,>,1]", 'class:STOCK has:a -a:"x y" b:>1'),
    ],
)
def test_padres_triples_are_read(text: str, query: str) -> None:
    assert parse(text, syntax="padres") == parse(query)


@pytest.mark.parametrize(
    ("text", "column"),
    [("[a,foo,1]", 4), ("[a,>,x]", 6), ("fire", 1), ("[a,>", 5), ("[a,>,1] x", 9), ("[1,eq,'x']", 2)],
)
def test_a_bad_triple_is_refused_at_its_column(text: str, column: int) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, syntax="padres")
    assert caught.value.column == column


def test_an_exploding_query_is_not_expanded() -> None:
    query = " ".join(f"(a{i} OR b{i})" for i in range(40))
    parse("warm up")
    began = time.thread_time()
    parse(query)
    assert time.thread_time() - began < 1.0  # computing it would take longer than the universe has; mostly 3 ms


def test_the_column_counts_over_lines() -> None:
    with pytest.raises(QueryError) as caught:
        parse("fire\nvolume:>x")
    assert caught.value.column == 14


def test_stop_words_are_the_analysers() -> None:
    analyser = Analyser(language="german", stop_words=frozenset({"der", "die"}))
    assert parse("the", analyser=analyser) == Word("the")
    with pytest.raises(QueryError, match="stop words"):
        parse("Der die", analyser=analyser)


def test_threads_share_the_parser() -> None:
    texts = [f"w{i} -(x{i} OR y{i}) price:>{i}" for i in range(400)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(parse, texts)) == [parse(text) for text in texts]


def test_unknown_syntax_is_misuse() -> None:
    with pytest.raises(QueryError, match="padres"):
        parse("fire", syntax="sql")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "n" * 60 + ":(" + " OR ".join("abcdefghijkl") + ")",
        "x:>9e18 x:<-9e18 y:1e5..9e18 ts:>=2020-01-02T03:04:05.123456+01:00",
        "bounding_box:[-0.1e-1 -1e-300 1e-7 2.2250738585072014e-308] point_radius:[1 2 10mi]",
        r'"\"\"\"\\\\" x:"\\\\\"" topic:"\"/\""',
        "a(b)(c)-(d OR e)",
    ],
)
def test_a_short_text_is_never_written_much_longer(text: str) -> None:
    """The estimate that saves the parser from writing every query out."""
    reader = QueryReader(text)
    written = to_text(reader.read())
    assert len(written) <= 2 * len(text) + len(reader.places) * (len(text) + 128)
