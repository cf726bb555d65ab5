"""Throws random and mutated frames at a broker's reading: nothing but FrameError may come back, and little is held.

    python tests/broker/fuzz_frames.py --count 1000000 --report docs/results/fuzz-frames.json

Each frame comes in pieces at random cuts. Most are mutations of valid messages, of their bytes or of their JSON; some
have a wrong header, some are random bytes.
"""

from __future__ import annotations

import json
import random
import sys
import time
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tests.broker.wire import MESSAGES
from tests.fuzzing import Seen, main, throw
from tidings.broker.codec import decode, encode
from tidings.broker.frames import FrameError, FrameSplitter, framed
from tidings.broker.messages import BETWEEN_BROKERS, FROM_CLIENT, GREETINGS, TO_CLIENT

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


@dataclass
class Tried(Seen):
    """What a run saw, and how much of a frame was held at most."""

    most_held_bytes: int = 0


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


def check(frame: bytes, rng: random.Random, tried: Tried) -> None:
    splitter = FrameSplitter(LIMIT_BYTES)
    cut = rng.randrange(len(frame) + 1)
    began = time.thread_time()
    try:
        for piece in (frame[:cut], frame[cut:]):
            for body in splitter.feed(piece):
                message = decode(body, KINDS)
                if decode(encode(message), KINDS) != message:
                    tried.failures.append(f"round trip: {body!r}")
        tried.accepted += 1
    except FrameError as error:
        tried.refused += 1
        if len(str(error)) > 1000:
            tried.failures.append(f"a reason of {len(str(error))} characters: {frame[:200]!r}")
    except Exception as error:
        tried.failures.append(f"{type(error).__name__}: {error}: {frame[:300]!r}")
    tried.took((time.thread_time() - began) * 1000)
    tried.most_held_bytes = max(tried.most_held_bytes, len(splitter))


def run(count: int, seed: int, progress: bool = False) -> Tried:
    tried = Tried(count, seed)

    def one(number: int, rng: random.Random) -> None:
        check(framed(HARD[number]) if number < len(HARD) else one_frame(rng), rng, tried)

    throw(tried, one, progress)
    return tried


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
