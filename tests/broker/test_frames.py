from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.broker import fuzz_frames
from tests.broker.wire import MESSAGES, POST
from tests.examples import examples
from tidings.broker.codec import decode, encode, encode_deliveries
from tidings.broker.frames import HEADER_BYTES, VERSION, FrameError, FrameSplitter, framed
from tidings.broker.messages import TO_CLIENT, Accepted, Delivery


@examples(200)
@given(st.lists(st.binary(max_size=50), max_size=8), st.lists(st.integers(0, 400), max_size=8))
def test_wherever_the_bytes_are_cut_the_messages_are_the_same(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(framed(body) for body in bodies)
    splitter = FrameSplitter(limit=50)
    borders = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    found = [body for a, b in pairwise(borders) for body in splitter.feed(stream[a:b])]
    assert found == bodies and len(splitter) == 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n", "this is no frame: it begins with b'GET'"),
        (b"t\x00", r"this is no frame: it begins with b't\x00'"),
        (framed(b"{}", version=VERSION + 1), "version 1 is spoken here, got version 2"),
        (framed(b"x" * 101), "a message has at most 100 bytes here, got one of 101"),
    ],
)
def test_a_wrong_header_is_refused_before_the_rest_has_come(data: bytes, reason: str) -> None:
    with pytest.raises(FrameError) as caught:
        list(FrameSplitter(limit=100).feed(data[:HEADER_BYTES]))
    assert str(caught.value) == reason


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_what_is_written_is_read_again(message: object) -> None:
    assert decode(encode(message), (type(message),)) == message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[]", "a message is an object, got []"),
        (b'{"type":"Hello"}',
         "one of Accepted, Refused, Delivery, MoveOrder, LeaveOrder, Goodbye is expected, got 'Hello'"),
        (b'{"type":"Accepted"}', "Accepted lacks its field 'number'"),
        (b'{"type":"Accepted","number":true}', "int is expected, got True"),
        (b'{"type":"Accepted","number":1,"x":2}', "Accepted has no field 'x'"),
        (b'{"type":"Accepted","number":NaN}', "NaN is no number here"),
        (b'{"type":"Refused","number":1,"reason":"\\ud800"}',
         r"""this cannot be read: "'utf-8' codec can't encode character '\\ud800' in position 0: surrogates """
         'not allowed"'),
        (b'{"type":"Delivery","subscriber":"a","key":"k","publication":{"type":"Publication","id":""}}',
         "a publication needs an id that is not empty"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused_with_a_reason(body: bytes, reason: str) -> None:
    with pytest.raises(FrameError) as caught:
        decode(body, TO_CLIENT)
    assert str(caught.value) == reason


def test_deliveries_of_one_publication_are_written_as_any_other() -> None:
    names = ["ada/1", 'b"\\o/2', "\N{FIRE}/3"]
    found = [decode(body, (Delivery,)) for body in encode_deliveries(names, "k", POST)]
    assert found == [Delivery(name, "k", POST) for name in names]


def test_a_field_with_its_default_is_left_out() -> None:
    assert encode(Accepted(3)) == b'{"type":"Accepted","number":3}'
    assert b"in_order" not in encode(MESSAGES[-1])


def test_hostile_frames_bring_nothing_but_refusals() -> None:
    tried = fuzz_frames.run(5_000, seed=7)
    assert tried.failures == []
    assert tried.accepted > 100 and tried.refused > 1_000
    assert tried.most_held_bytes <= fuzz_frames.LIMIT_BYTES + HEADER_BYTES
