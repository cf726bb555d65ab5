import math
import pickle
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.language import evaluate, parse, to_text
from tidings.model import (
    And,
    Circle,
    EndsWith,
    Or,
    Publication,
    PublicationError,
    QueryError,
    Range,
    Rectangle,
    StartsWith,
    Subscription,
    SubscriptionError,
    Topic,
    Within,
    Word,
)
from tidings.model.region import distance_m
from tidings.model.values import equality_texts, instant_text, number_text, read_instant, read_number


@given(st.one_of(st.integers(-(2**64) + 1, 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_survives_its_text(number: int | float) -> None:
    assert read_number(number_text(number)) == number
    assert equality_texts(number_text(number)) == {number_text(number)}


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_survives_its_text(instant: datetime) -> None:
    assert read_instant(instant_text(instant)) == instant


@pytest.mark.parametrize("text", ["nan", "inf", "0x1", "1_000", "007", "+1", "1.", ".5", "1e999", "9" * 400, "", "１"])
def test_what_only_looks_like_a_number_is_text(text: str) -> None:
    assert read_number(text) is None


@pytest.mark.parametrize(
    "text", ["2020-13-01", "2020-02-30", "2020-1-1", "20200101", "2020-01-01T25:00:00Z", "2020-01-01T"]
)
def test_what_only_looks_like_an_instant_is_text(text: str) -> None:
    assert read_instant(text) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"id": ""}, "needs an id"),
        ({"text": 5}, "not text"),
        ({"text": "x" * 1_000_001}, "at most 1,000,000"),
        ({"text": "\ud800"}, "surrogate"),
        ({"lat": 1.0}, "both lat and lon"),
        ({"lat": 999.0, "lon": 0.0}, "lat is between"),
        ({"lat": 0.0, "lon": float("nan")}, "lon is between"),
        ({"lat": "1", "lon": 0.0}, "not a number of degrees"),
        ({"ts": 5}, "not a datetime"),
        ({"topics": ("a//b",)}, "non-empty steps"),
        ({"topics": ("a\0",)}, "non-empty steps"),
        ({"topics": ("a/" * 100_000 + "b",)}, "100,001 steps; at most 100 are taken"),
        ({"topics": ("a",) * 1_001}, "1,001 topics; at most 1,000 are taken"),
        ({"attributes": {f"n{n}": n for n in range(10_001)}}, "10,001 attributes; at most 10,000 are taken"),
        ({"attributes": {"note": "x" * 1_000_001}}, "'note' has 1,000,001 characters; at most 1,000,000"),
        ({"lat": 10**400, "lon": 0}, "lat is between -90 and 90 degrees, got far more"),
        ({"attributes": {"price": float("nan")}}, "not a finite number"),
        ({"attributes": {"price": 10**400}}, "not a finite number"),
        ({"attributes": {"tags": ["a", b"b"]}}, "'tags' is a bytes; .*lists and objects"),
        ({"attributes": {"user": {"photo": b"x"}}}, "'user.photo' is a bytes"),
        ({"attributes": {"n": [1.0, float("inf")]}}, "not a finite number"),
        ({"attributes": {"n": [0] * 10_001}}, "'n' has 10,001 values; at most 10,000"),
        ({"attributes": {"user": {5: 1}}}, "the name 5, which is no text"),
        ({"attributes": {"text": {"a": 1}}}, "'text' cannot name an attribute"),
        ({"attributes": {"deep": eval("[" * 33 + "]" * 33)}}, "nested deeper than 32 levels"),
        ({"attributes": {"lat": 5}}, "cannot name an attribute"),
        ({"attributes": {5: 1}}, "cannot name an attribute"),
        ({"topics": "sports"}, "tuple of paths"),
        ({"ts": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))}, "outside the years"),
    ],
)
def test_a_bad_publication_is_refused_with_the_reason(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(PublicationError, match=reason):
        Publication(**{"id": "p1", **fields})  # type: ignore[arg-type]


def test_what_is_quoted_in_a_message_is_short_and_printable() -> None:
    hostile = "\x1b[2J" + "x" * 1_000_000
    bad: list[dict[str, object]] = [
        {"id": hostile, "lat": 5}, {"topics": (hostile + "//",)}, {"topics": hostile}, {"attributes": {hostile: b"x"}},
        {"attributes": {hostile: float("nan")}}, {"attributes": {hostile: "\ud800"}},
    ]  # fmt: skip
    for fields in bad:
        with pytest.raises(PublicationError) as told:
            Publication(**{"id": "p1", **fields})  # type: ignore[arg-type]
        assert len(str(told.value)) < 600 and str(told.value).isprintable()


def test_absent_values_and_instants_are_normalised() -> None:
    east = timezone(timedelta(hours=2))
    post = Publication("p", ts=datetime(2020, 1, 1, 2, tzinfo=east), attributes={"a": None, "b": datetime(2020, 1, 1)})  # type: ignore[dict-item]
    assert post.value("a") is None and "a" not in post.attributes
    assert post.value("ts") == post.value("b") == datetime(2020, 1, 1, tzinfo=UTC)
    assert post.value("text") is None


def test_numpy_scalars_are_plain_numbers() -> None:
    post = Publication("p", lat=np.float64(0.5), lon=np.float64(1.5), attributes={"price": np.float64(0.1)})
    assert evaluate(parse("price:0.1 lat:0.5"), post)
    assert to_text(Range("price", low=np.float64(0.5))) == "price:>=0.5"
    assert to_text(Within(Rectangle(np.float64(1.5), 0, 2, 3))) == "bounding_box:[1.5 0 2 3]"


def test_whole_numbers_are_equal_in_any_column_up_to_64_bits() -> None:
    for value in (10**16, 1e16):
        assert evaluate(parse("n:1e16"), Publication("p", attributes={"n": value}))
        assert evaluate(parse("n:10000000000000000"), Publication("p", attributes={"n": value}))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"query": "fire"}, "make it with tidings.parse"),
        ({"id": 5}, "its id is text"),
        ({"tag": "\ud800"}, "its tag is text"),
        ({"since": "2020-01-01"}, "not a datetime"),
        ({"version": 0}, "counts from 1"),
    ],
)
def test_a_bad_subscription_is_refused_with_the_reason(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(SubscriptionError, match=reason):
        Subscription(**{"id": "s", "query": Word("fire"), **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["topic", "text", "has", "bounding_box", "", " ", "a\0b", "x" * 257])
def test_what_is_no_name_of_an_attribute_is_refused(name: str) -> None:
    with pytest.raises(QueryError):
        Range(name, low=1.0)


def test_open_sides_and_whole_bounds_are_written_one_way() -> None:
    assert Range("n", high=5, low_included=False) == Range("n", high=5.0)
    with pytest.raises(QueryError, match="float64"):
        Range("n", low=10**400)
    with pytest.raises(QueryError, match="tuple of steps"):
        Topic("news")  # type: ignore[arg-type]


def test_values_are_frozen_equal_and_travel() -> None:
    post = Publication("p", "text", attributes={"a": 1})
    assert pickle.loads(pickle.dumps(post)) == post and hash(post) == hash(pickle.loads(pickle.dumps(post)))
    with pytest.raises(TypeError):
        post.attributes["a"] = 2  # type: ignore[index]
    error = QueryError("bad", 3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_trees_flatten_and_kinds_differ() -> None:
    a, b, c = Word("a"), Word("b"), Word("c")
    assert Or((a, Or((b, c)))) == Or((a, b, c))
    assert And((a, Or((b, c)))).children == (a, Or((b, c)))
    assert StartsWith("x", "y") != EndsWith("x", "y")  # type: ignore[comparison-overlap]


def test_a_subscription_holds_from_since_until_before_until() -> None:
    first, last = datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=UTC)
    subscription = Subscription("s", Word("fire"), since=first, until=last)
    assert subscription.valid_at(first) and not subscription.valid_at(last)
    with pytest.raises(SubscriptionError, match="not after it begins"):
        Subscription("s", Word("fire"), since=last, until=first)


@given(st.floats(-180, 180), st.floats(-90, 90), st.floats(1, 5e6), st.floats(0, 360), st.floats(0, 1))
def test_the_bounds_of_a_circle_hold_it(lon: float, lat: float, radius: float, bearing: float, part: float) -> None:
    circle = Circle(lon, lat, radius)
    other_lon, other_lat = _walk(lon, lat, bearing, radius * part)
    if circle.contains(other_lon, other_lat):
        assert any(box.contains(other_lon, other_lat) for box in circle.bounds())


def _walk(lon: float, lat: float, bearing: float, metres: float) -> tuple[float, float]:
    d, phi, theta = metres / 6_371_008.8, math.radians(lat), math.radians(bearing)
    sin_phi2 = math.sin(phi) * math.cos(d) + math.cos(phi) * math.sin(d) * math.cos(theta)
    phi2 = math.asin(max(-1.0, min(1.0, sin_phi2)))
    turn = math.atan2(math.sin(theta) * math.sin(d) * math.cos(phi), math.cos(d) - math.sin(phi) * math.sin(phi2))
    return (lon + math.degrees(turn) + 540) % 360 - 180, math.degrees(phi2)


def test_distance_agrees_with_a_known_one() -> None:
    sydney_melbourne = distance_m(151.2093, -33.8688, 144.9631, -37.8136)
    assert abs(sydney_melbourne - 713_400) < 1_500


def test_borders_belong_to_a_rectangle() -> None:
    box = Rectangle(0, 0, 1, 1)
    assert box.contains(0, 0) and box.contains(1, 1) and not box.contains(1.0000001, 1)


def test_nested_attributes_are_taken_apart() -> None:
    nested = {
        "user": {"name": "ada", "age": None, "tags": ["x", None, "y"]},
        "items": [{"price": 1, "of": {"n": 2}}, {"price": 3}, {}, None],
        "deep": [[1, [2]], []],
        "none": [],
        "nobody": {},
        "plain": 5,
    }
    post = Publication("p", attributes=nested)  # type: ignore[arg-type]
    assert dict(post.attributes) == {
        "plain": 5,
        "deep": (1, 2),
        "user.name": "ada",
        "user.tags": ("x", "y"),
        "items.price": (1, 3),
        "items.of.n": (2,),
    }
    assert post.values("deep") == (1, 2) and post.values("plain") == (5,) and post.values("none") == ()
    assert Publication("p", attributes=post.attributes) == post == pickle.loads(pickle.dumps(post))


def test_of_two_attributes_with_one_name_the_one_of_fewer_steps_counts() -> None:
    for nested in ({"user.name": "a", "user": {"name": "b"}}, {"user": {"name": "b"}, "user.name": "a"}):
        assert dict(Publication("p", attributes=nested).attributes) == {"user.name": "a"}  # type: ignore[arg-type]


@pytest.mark.parametrize(("lat", "lon"), [(90.5, 0.0), (-90.5, 0.0), (0.0, 180.5), (0.0, -180.5)])
def test_a_place_beyond_the_pole_or_the_date_line_is_refused(lat: float, lon: float) -> None:
    with pytest.raises(PublicationError, match="is between"):
        Publication("p", lat=lat, lon=lon)


def test_a_circle_that_only_touches_the_date_line_is_one_rectangle() -> None:
    touching = 0
    for radius_m in range(1_000, 100_000, 1_000):
        half = Circle(0, 0, radius_m).bounds()[0].east
        west, east = Circle(-180 + half, 0, radius_m).bounds(), Circle(180 - half, 0, radius_m).bounds()
        if west[0].west == -180 and east[0].east == 180:
            touching += 1
            assert len(west) == len(east) == 1
        assert {len(Circle(lon, 0, radius_m).bounds()) for lon in (-180 + half * 0.99, 180 - half * 0.99)} == {2}
    assert touching > 10


@pytest.mark.parametrize("sides", [(-181, 0, 1, 1), (0, -91, 1, 1), (0, 0, 181, 1), (0, 0, 1, 91), ("0", 0, 1, 1)])
def test_a_rectangle_lies_on_the_earth(sides: tuple[float, float, float, float]) -> None:
    with pytest.raises(QueryError):
        Rectangle(*sides)
