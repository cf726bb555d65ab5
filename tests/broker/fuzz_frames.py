"""Throws random and mutated frames at a broker: nothing but a refusal with a reason may come back, and little is held.

    python tests/broker/fuzz_frames.py --count 1000000 --report docs/results/fuzz-frames.json

Each frame comes in pieces at random cuts. Most are mutations of valid messages, of their bytes or of their JSON; some
have a wrong header, some are random bytes. What can be read goes on to one broker, as if a client or a neighbour had
sent it, and what that would send is written. How much memory the run needs is told twice, to show that it stays.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from tests.broker.wire import MESSAGES
from tests.fuzzing import Seen, main, throw
from tidings.balancing.padres import ByProfile, EdgeBalancer, Parameters, Place
from tidings.broker.codec import decode, encode, encode_deliveries
from tidings.broker.connection import Connection
from tidings.broker.core import BrokerCore, Order, Outcome, ToBroker, ToItself, ToSubscribers
from tidings.broker.frames import FrameError, FrameSplitter, framed
from tidings.broker.guests import Guest
from tidings.broker.messages import (
    BETWEEN_BROKERS,
    FROM_CLIENT,
    GREETINGS,
    TO_CLIENT,
    BrokerMessage,
    ClientRequest,
    Transit,
)
from tidings.model import QueryError
from tidings.simulate import control

KINDS = tuple(dict.fromkeys((*GREETINGS, *FROM_CLIENT, *TO_CLIENT, *BETWEEN_BROKERS)))
LIMIT_BYTES = 4096
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1e308,
    "",
    "x" * 300,
    "\ud800",
    "NaN",
    [],
    {},
    [[]],
    {"type": "Pie"},
    {"instant": "x"},
)
BODIES = tuple(encode(message) for message in MESSAGES)
HARD = (
    b"[" * 4000,
    b'{"a":' * 800,
    b'{"type":"Accepted","number":' + b"9" * 4000 + b"}",
    b'{"type":"Accepted","number":1e999}',
    b'{"type":"Accepted","number":NaN}',
    b"\xff\xfe",
    b"",
)


WARM = 100_000
"""After so many frames everything that a run needs once is there."""


@dataclass
class Tried(Seen):
    """What a run saw, how much of a frame was held at most, and the memory of the process early and late."""

    slowest_frame: str = ""
    taken: int = 0
    """By the broker, which had no objection."""
    most_held_bytes: int = 0
    peak_mb_when_warm: float = 0.0
    peak_mb: float = 0.0


class Target:
    """A broker between a client and its head. It has a balancer, and gets all that can be read."""

    def __init__(self) -> None:
        self.core = BrokerCore("B1", ("B0",), frozenset({"B0"}), 1e6, 0.0)
        place, parameters = Place("B1", "C0", "B0"), Parameters()
        balancer = EdgeBalancer(place, self.core, parameters, ByProfile(parameters), random.Random(1))
        self.core.start(balancer, 0.0)
        self._guest = Guest("ada", cast(Connection, None))  # a guest only names things by it
        self._now = 0.0

    def take(self, message: object) -> bool:
        """Whether this is something for a broker; refuses with FrameError or QueryError."""
        self._now += 0.1
        if isinstance(message, get_args(ClientRequest)):
            self._answer(self.core.on(self._guest.packet(message), "", self._now))
        elif isinstance(message, get_args(BrokerMessage)):
            self._answer(self.core.on(self._for_us(message), "B0", self._now))
        else:
            return False
        return True

    @staticmethod
    def _for_us(message: BrokerMessage) -> BrokerMessage:
        """What balancers say to each other shall reach this one, whatever the mutation has done to its address."""
        if not isinstance(message, Transit) or message.payload is None:
            return message
        return replace(message, publication=control.to_broker("B1"))

    def _answer(self, outcomes: list[Outcome]) -> None:
        """Write what the broker would send; what it says to itself it hears."""
        for outcome in outcomes:
            match outcome:
                case ToBroker(_, message):
                    encode(message)
                case Order(_, message):
                    encode(message)
                case ToSubscribers(names, carried):
                    list(encode_deliveries(names, carried.key, carried.publication))
                case ToItself(carried):
                    self._answer(self.core.on(carried, "", self._now))


def one_frame(rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.05:
        return rng.randbytes(rng.randrange(1, 60))
    if kind < 0.15:
        frame = bytearray(framed(rng.choice(BODIES)))
        frame[rng.randrange(8)] = rng.randrange(256)
        return bytes(frame)
    if kind < 0.5:
        return framed(mutated_bytes(rng.choice(BODIES), rng))
    page = json.loads(rng.choice(BODIES))
    for _ in range(rng.randrange(1, 3)):
        mutate(page, rng)
    return framed(json.dumps(page).encode())


def mutated_bytes(body: bytes, rng: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(rng.randrange(1, 4)):
        at, to = sorted((rng.randrange(len(changed) + 1), rng.randrange(len(changed) + 1)))
        match rng.randrange(3):
            case 0:
                del changed[at:to]
            case 1:
                changed[at:at] = rng.randbytes(rng.randrange(1, 4))
            case _:
                changed[to:to] = changed[at:to]
    return bytes(changed)


def mutate(page: Any, rng: random.Random) -> None:
    """Change, add or remove one value somewhere."""
    inner = [page]
    while True:
        holder = inner[-1]
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.6:
            inner.append(holder[key])
            continue
        match rng.randrange(3):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[rng.choice(("type", "number", "extra", "id"))] = deepcopy(rng.choice(VALUES))
            case _:
                holder[key] = deepcopy(rng.choice(VALUES))
        return


def check(frame: bytes, rng: random.Random, target: Target, tried: Tried) -> None:
    splitter = FrameSplitter(LIMIT_BYTES)
    cut = rng.randrange(len(frame) + 1)
    began = time.thread_time()
    try:
        for piece in (frame[:cut], frame[cut:]):
            for body in splitter.feed(piece):
                message = decode(body, KINDS)
                if decode(encode(message), KINDS) != message:
                    tried.failures.append(f"round trip: {body!r}")
                tried.taken += target.take(message)
        tried.accepted += 1
    except (FrameError, QueryError) as error:
        tried.refused += 1
        if len(str(error)) > 1000:
            tried.failures.append(f"a reason of {len(str(error))} characters: {frame[:200]!r}")
    except Exception as error:
        tried.failures.append(f"{type(error).__name__}: {error}: {frame[:300]!r}")
    if tried.took((time.thread_time() - began) * 1000):
        tried.slowest_frame = repr(frame[:1000])
    tried.most_held_bytes = max(tried.most_held_bytes, len(splitter))


def run(count: int, seed: int, progress: bool = False) -> Tried:
    tried, target = Tried(count, seed), Target()

    def one(number: int, rng: random.Random) -> None:
        check(framed(HARD[number]) if number < len(HARD) else one_frame(rng), rng, target, tried)
        if number == WARM:
            tried.peak_mb_when_warm = peak_mb()

    throw(tried, one, progress)
    tried.peak_mb = peak_mb()
    return tried


def peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
