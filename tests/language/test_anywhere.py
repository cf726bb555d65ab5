"""Words in any attribute, and addresses in networks."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.engine import Engine
from tidings.language import covers, evaluate, explain, parse, to_text
from tidings.language.atoms import is_in_network
from tidings.model import Anywhere, Equals, InNetwork, Match, Publication, QueryError

POST = Publication(
    "p", "Smoke over the harbour", attributes={"title": "White House fires", "n": 7, "tags": ("a", "b c")}
)


def publish(engine: Engine, post: Publication) -> list[Match]:
    attributes: dict[str, Any] = {**post.attributes}
    return list(engine.publish(id=post.id, text=post.text, **attributes))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("any:smoke", True),
        ("any:fire", True),
        ("any:7", True),
        ('any:"white house"', True),
        ('any:"house white"', False),
        ('any:"fire white"~2', False),
        ('any:"fire white"~3', True),
        ('any:"smoke white"~9', False),  # in one place
        ("any:(smoke fire)", True),
        ("any:(drill OR c)", True),
        ("any:drill", False),
        ("smoke -any:fire", False),
        ("smoke -any:drill", True),
        ("any:the smoke", True),
    ],
)
def test_words_are_found_in_the_text_and_in_any_attribute(text: str, answer: bool) -> None:
    assert evaluate(parse(text), POST) is answer
    assert explain(parse(text), POST).matched is answer
    engine = Engine()
    engine.subscribe(text, id="s")
    assert [match.subscription_id for match in publish(engine, POST)] == ["s"] * answer


def test_a_large_query_has_words_anywhere_too() -> None:
    many = " ".join(f"(any:a{n} OR b{n})" for n in range(12))
    text = f"any:fire {many} -any:drill"
    good = Publication("p", "", attributes={"x": "fire " + " ".join(f"a{n}" for n in range(12))})
    bad = Publication("q", "", attributes={"x": good.attributes["x"], "y": "drill"})
    assert evaluate(parse(text), good) and not evaluate(parse(text), bad)
    engine = Engine()
    engine.subscribe(text, id="s")
    assert publish(engine, good) and not publish(engine, bad)


@pytest.mark.parametrize("text", ["any:", "any:*", "any:>5", "any:[1 TO 2]", "any:the", 'any:""'])
def test_nothing_else_is_asked_of_all_attributes(text: str) -> None:
    with pytest.raises(QueryError):
        parse(text)


def test_an_explanation_names_the_attribute() -> None:
    assert str(explain(parse("any:house"), POST)) == "matched: any:house: title is White House fires"


def test_words_of_one_attribute_are_words_anywhere() -> None:
    assert covers(parse('any:"white house"'), parse('any:"the white house" fire'))
    assert not covers(parse('any:"white house"'), parse("any:white"))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("ip:10.0.0.0/8", InNetwork("ip", "10.0.0.0/8")),
        ("ip:10.1.2.3/8", InNetwork("ip", "10.0.0.0/8")),
        ("ip:2001:DB8::/32", InNetwork("ip", "2001:db8::/32")),
        ('ip:"10.0.0.0/8"', Equals("ip", "10.0.0.0/8")),
        ("ip:10.0.0.1", Equals("ip", "10.0.0.1")),
        ("type:1/2", Equals("type", "1/2")),
        ('ip:"10.0.0.0/33"', Equals("ip", "10.0.0.0/33")),
        ("any:10.0.0.0/8", Anywhere("10.0.0.0/8")),
    ],
)
def test_a_network_is_an_address_and_a_length_without_quotes(text: str, query: object) -> None:
    assert parse(text) == query
    assert parse(to_text(parse(text))) == query


_networks = st.builds(
    lambda own, length: ipaddress.ip_network(f"{own}/{length % (own.max_prefixlen + 1)}", strict=False),
    st.ip_addresses(network="10.0.0.0/29") | st.ip_addresses(network="fd00::/125") | st.ip_addresses(),
    st.sampled_from([0, 8, 28, 29, 30, 32, 125, 126, 128]),
)


@examples(300)
@given(_networks, st.lists(_networks, min_size=1, max_size=4))
def test_an_address_is_found_in_all_networks_above_it(own: Any, asked: list[Any]) -> None:
    address = str(own.network_address)
    engine = Engine()
    for number, network in enumerate(asked):
        engine.subscribe(f"ip:{network}", id=str(number))
    for text in (address, str(own)):
        found = {match.subscription_id for match in engine.publish(id="p", ip=["x", text])}
        value = ipaddress.ip_network(text)
        above = {
            str(number)
            for number, network in enumerate(asked)
            if network.version == value.version and value.subnet_of(network)
        }
        assert found == above


def test_what_is_no_address_is_in_no_network() -> None:
    for text in ("", "x", "10.0.0", "10.0.0.0.1", "010.0.0.1", "10.0.0.1/33", ":", "::1::2", "1" * 60):
        assert not is_in_network(InNetwork("ip", "0.0.0.0/0"), text)
        assert not is_in_network(InNetwork("ip", "::/0"), text)


def test_a_wider_network_covers() -> None:
    assert covers(parse("ip:10.0.0.0/8"), parse("ip:10.1.0.0/16"))
    assert covers(parse("ip:10.0.0.0/8"), parse("ip:10.1.0.0 fire"))
    assert not covers(parse("ip:10.1.0.0/16"), parse("ip:10.0.0.0/8"))
    assert not covers(parse("ip:::/0"), parse("ip:10.0.0.0/8"))
