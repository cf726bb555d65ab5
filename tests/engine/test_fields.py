"""Kinds of fields: exact, folded and text; kept with the registry, so that a query means the same tomorrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings import Engine
from tidings.analysis import Analyser, Fields
from tidings.index import BruteForce, GuardIndex
from tidings.language import covers, evaluate, explain, parse, to_text
from tidings.model import DataError, Publication, QueryError, Subscription
from tidings.registry import Registry

FIELDS = {"title": "text", "user": "folded"}
ANALYSER = Analyser(fields=FIELDS)  # type: ignore[arg-type]  # a mapping becomes Fields


@pytest.mark.parametrize(
    ("query", "held", "expected"),
    [
        ("title:fire", "Fires in the hills", True),
        ("title:fire", "Firefighters", False),
        ('title:"white house"', "The White House says", True),
        ('title:"white house"', "house of the white", False),
        ('title:"house white"~2', "The White House says", True),
        ("title:(house white)", "The White House says", True),
        ("title:(house fire OR says)", "The White House says", True),
        ("title:(house fire)", "The White House says", False),
        ("title:fir*", "Firefighters", True),
        ("title:covid-19", "after COVID 19", True),
        ("title:the title:house", "house", True),
        ("user:ada", "ADA", True),
        ("user:A*", "ada", True),
        ("user:*D*", "ada", True),
        ("user:*X*", "ada", False),
        ("user:a?A", "aDa", True),
        ("user:/A+d.*/", "aDa", True),
        ("city:ada", "ADA", False),
    ],
)
def test_a_field_is_compared_as_its_kind_says(query: str, held: str, expected: bool) -> None:
    name = query.partition(":")[0]
    found = parse(query, analyser=ANALYSER)
    post = Publication("p", "house", attributes={name: held})
    assert evaluate(found, post, ANALYSER) == expected == explain(found, post, ANALYSER).matched
    assert parse(to_text(found), analyser=ANALYSER) == found
    engine = Engine(fields=FIELDS)
    engine.subscribe(query, id="s")
    assert bool(engine.publish(id="p", text="house", **{name: held})) == expected  # type: ignore[arg-type]
    table = pa.table({"id": ["p", "q"], "text": ["house", "house"], name: [held, None]})
    assert len(engine.match(table)) == expected


@pytest.mark.parametrize("query", ["title:*ire", "title:*ir*", "title:f?re", "title:/fire/", 'title:"white hou"*'])
def test_a_text_of_words_is_asked_for_words(query: str) -> None:
    with pytest.raises(QueryError, match="word"):
        parse(query, analyser=ANALYSER)


@pytest.mark.parametrize("query", ['user:"white house"~2', "user:(a b)", "title:(the)"])
def test_what_only_a_text_has_is_refused_elsewhere(query: str) -> None:
    with pytest.raises(QueryError):
        parse(query, analyser=ANALYSER)


def test_a_star_names_all_other_fields() -> None:
    fields = Fields.of({"*": "folded", "id": "exact", "title": "text"})
    assert [fields.kind(name) for name in ("id", "title", "other")] == ["exact", "text", "folded"]
    assert Fields.written(["*=folded", "id=exact", "title=text"]) == fields


@pytest.mark.parametrize("bad", [{"title": "words"}, {"": "text"}, {"text": "folded"}, ["title"], {"topic": "text"}])
def test_a_kind_that_there_is_not_is_refused(bad: object) -> None:
    with pytest.raises(DataError):
        Engine(fields=bad)  # type: ignore[arg-type]


def test_a_registry_keeps_its_fields_and_refuses_others(tmp_path: Path) -> None:
    with Engine(tmp_path / "a", fields=FIELDS) as engine:
        engine.subscribe("user:ADA", id="s")
    with Engine(tmp_path / "a") as engine:
        assert engine.publish(id="p", user="ada")
    assert Registry(tmp_path / "a").analyser.fields == Fields.of(FIELDS)
    with (
        pytest.raises(DataError, match="would mean something else"),
        Engine(tmp_path / "a", fields={"user": "text"}) as e,
    ):
        e.subscribe("user:ADA", id="t")
    with Engine(tmp_path / "b") as engine:
        engine.subscribe("user:ADA", id="s")
    with pytest.raises(DataError, match="would mean something else"), Engine(tmp_path / "b", fields=FIELDS) as e:
        e.subscribe("user:ADA", id="t")


def test_a_broken_page_of_fields_is_told(tmp_path: Path) -> None:
    with Engine(tmp_path / "a", fields=FIELDS) as engine:
        engine.subscribe("user:ADA", id="s")
    (tmp_path / "a" / "fields.json").write_text("{}")
    with pytest.raises(DataError, match="cannot be read"):
        Engine(tmp_path / "a")


_words = st.lists(st.sampled_from(["fire", "Smoke", "the", "rain"]), min_size=1, max_size=3).map(" ".join)
_asked = st.one_of(
    _words.map(lambda words: f'title:"{words}"'),
    st.tuples(_words, st.integers(1, 2)).map(lambda pair: f'title:"{pair[0]}"~{pair[1]}'),
    st.sampled_from(["title:fi*", "title:smok*", "user:ADA", "user:*d*", "user:a*", "city:ADA", "-title:fire", "rain"]),
)
_posts = st.builds(
    lambda title, user, text: Publication("p", text, attributes={"title": title, "user": user, "city": user}),
    _words | st.lists(_words, max_size=2).map(tuple),
    st.sampled_from(["ADA", "ada", "Ad", "x", "DA"]),
    st.sampled_from(["rain", "fire"]),
)


@examples(100)
@given(
    st.lists(st.lists(_asked, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=5),
    st.lists(_posts, max_size=4),
)
def test_the_index_equals_brute_force_over_fields(queries: list[str], posts: list[Publication]) -> None:
    trees = []
    for text in queries:
        try:
            trees.append(parse(text, analyser=ANALYSER))
        except QueryError:
            continue
    index, brute = GuardIndex(ANALYSER), BruteForce(ANALYSER)
    subscriptions = [Subscription(str(n), tree) for n, tree in enumerate(trees)]
    for one in (index, brute):
        one.add(subscriptions)
    for post in posts:
        expected = {s.id for s in subscriptions if evaluate(s.query, post, ANALYSER)}
        held = {name: [[*post.values(name)]] for name in post.attributes}
        table = pa.table({"id": [post.id], "text": [post.text], **held})
        for found in (index.match(table), index.match_one(post), brute.match(table)):
            assert {match.subscription_id for match in found} == expected
    for a in trees:
        for b in trees:
            if covers(a, b, ANALYSER):
                assert all(evaluate(a, post, ANALYSER) for post in posts if evaluate(b, post, ANALYSER))


@pytest.mark.parametrize(
    "name", ["User Agent", "@timestamp", "a=b", 'says "x"', "cs(Referer)", "1st", "x:y", "größe", "-"]
)
def test_an_attribute_may_have_any_name(name: str) -> None:
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    queries = [f"{quoted}:curl*", f"{quoted}:(x OR curl/7)", f"has:{quoted}", f"fire -has:{quoted}", f"{quoted}:>3"]
    posts: list[dict[str, Any]] = [{name: "curl/7"}, {name: 5}, {}]
    table = pa.table({"id": ["0", "1", "2"], "text": ["fire"] * 3, name: ["curl/7", "5", None]})
    expected = [{0, 1, 2}, {2}, {3}]  # "5" is text in the table
    for rows in (1, 40):  # one by one, and by shape
        engine = Engine()
        asked = pa.table({"id": [f"{n} {row}" for row in range(rows) for n in range(5)], "query": queries * rows})
        assert engine.subscribe_many(asked).accepted == 5 * rows
        for post, wanted in zip(posts, [{0, 1, 2}, {2, 4}, {3}], strict=True):
            found = engine.publish(id="p", text="fire", **post)
            assert {int(match.subscription_id.split()[0]) for match in found} == wanted
            assert len(found) == len(wanted) * rows
        rows_found: list[set[int]] = [set(), set(), set()]
        for match in engine.match(table):
            rows_found[int(match.publication_id)].add(int(match.subscription_id.split()[0]))
        assert rows_found == expected


def test_a_field_of_any_name_has_a_kind() -> None:
    engine = Engine(fields={"Page Title": "text"})
    engine.subscribe('"Page Title":"white house"', id="s1")
    post: dict[str, Any] = {"Page Title": "The White Houses"}
    assert len(engine.publish(id="p1", **post)) == 1
