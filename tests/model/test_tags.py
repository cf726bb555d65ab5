"""What is a tag, and which posts have the one that is asked for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.analysis import tags
from tidings.engine import Engine
from tidings.language import evaluate, explain, parse
from tidings.model import And, Not, Publication, QueryError, Tag, Word
from tidings.model.tags import is_tag, written_tags


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#fire", ["#fire"]),
        ("#FIRE, #fire!", ["#fire", "#fire"]),
        ("(#fire)", ["#fire"]),
        ("a#fire", []),
        ("##fire", ["#fire"]),
        ("#1", []),
        ("#1st", ["#1st"]),
        ("#a_b-c", ["#a_b"]),
        ("#日本 #हिन्दी", ["#日本", "#हिन्दी"]),
        ("＃ﬁre", ["#fire"]),
        ("&#39;", []),
        ("$BHP up, $brk.b, $5", ["$bhp", "$brk.b"]),
        ("US$BHP $TOOLONGNAME", []),
        ("@alice: hi @Bob_1", ["@alice", "@bob_1"]),
        ("a@b.org", []),
        ("https://x.org/#a @b", ["@b"]),
        ("#" + "a" * 200, []),
        ("", []),
    ],
)
def test_tags_are_found_as_on_social_networks(text: str, found: list[str]) -> None:
    assert tags(text) == found


@examples(300)
@given(st.text(st.sampled_from("aB1_#$@＃. -/\u0301é日&"), max_size=12))
def test_what_is_found_is_a_tag_and_is_found_in_itself(text: str) -> None:
    for tag in written_tags(text):
        assert is_tag(tag) and written_tags(tag) == [tag]
        assert parse(tag) == Tag(tag)


def test_a_tag_is_asked_for_beside_words() -> None:
    assert parse("#Fire -@alice smoke") == And((Tag("#Fire"), Not(Tag("@alice")), Word("smoke")))
    assert parse("$100 fire") == And((Word("$100"), Word("fire")))


@pytest.mark.parametrize("text", ["#a-b", "@a.b", "#", "@", "#1", '"@alice"', "fire #☃"])
def test_what_is_not_one_tag_is_refused(text: str) -> None:
    with pytest.raises(QueryError):
        parse(text)


POSTS = [
    Publication("1", "Smoke! #Fire @NSWRFS"),
    Publication("2", "fire"),
    Publication("3", "$BHP #firefighters"),
    Publication("4", "", attributes={"x": "#fire"}),
]
ASKED = {"tag": "#fire", "word": "fire", "name": "@nswrfs -drill", "stock": "$bhp OR #nothing", "none": "smoke -#FIRE"}


def test_one_publication_and_a_batch_have_the_tags_that_the_reference_sees() -> None:
    engine = Engine()
    for name, text in ASKED.items():
        engine.subscribe(text, id=name)
    expected = {(p.id, name) for p in POSTS for name, text in ASKED.items() if evaluate(parse(text), p)}
    assert expected == {("1", "tag"), ("1", "word"), ("1", "name"), ("2", "word"), ("3", "stock")}
    alone = {
        (match.publication_id, match.subscription_id)
        for post in POSTS
        for match in engine.publish(id=post.id, text=post.text, x=post.attributes.get("x"))
    }
    table = pa.table({"id": [p.id for p in POSTS], "text": [p.text for p in POSTS]})
    both = {(match.publication_id, match.subscription_id) for match in engine.match(table)}
    assert alone == expected
    assert both == expected


def test_an_explanation_names_the_tags() -> None:
    assert str(explain(parse("#fire"), POSTS[0])) == "matched: #fire: #Fire, @NSWRFS"
    assert str(explain(parse("#drill"), POSTS[1])) == "no match: #drill: not found"
