"""Throws random and mutated frames at a broker's reading: nothing but FrameError may come back, and little is held.

    python tests/broker/fuzz_frames.py --count 1000000 --report docs/results/fuzz-frames.json

Each frame comes in pieces at random cuts. Most are mutations of valid messages, of their bytes or of their JSON; some
have a wrong header, some are random bytes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.broker.wire import MESSAGES
from tidings.broker.codec import decode, encode
from tidings.broker.frames import FrameError, FrameSplitter, framed
from tidings.broker.messages import BETWEEN_BROKERS, FROM_CLIENT, GREETINGS, TO_CLIENT

KINDS = tuple(dict.fromkeys((*GREETINGS, *FROM_CLIENT, *TO_CLIENT, *BETWEEN_BROKERS)))
LIMIT_BYTES, LIMIT_MS = 4096, 50.0
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
class Tried:
    """What a run saw."""

    count: int
    seed: int
    accepted: int = 0
    refused: int = 0
    most_held_bytes: int = 0
    slowest_ms: float = 0.0
    over_limit: int = 0
    failures: list[str] = field(default_factory=list)


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
    spent_ms = (time.thread_time() - began) * 1000
    tried.over_limit += spent_ms > LIMIT_MS
    tried.slowest_ms = max(tried.slowest_ms, round(spent_ms, 3))
    tried.most_held_bytes = max(tried.most_held_bytes, len(splitter))


def run(count: int, seed: int, progress: bool = False) -> Tried:
    rng = random.Random(seed)
    tried = Tried(count, seed)
    for i in range(count):
        check(framed(HARD[i]) if i < len(HARD) else one_frame(rng), rng, tried)
        if progress and i % 20_000 == 0:
            print(f"\r{i:,} of {count:,}, {len(tried.failures)} failures", end="", file=sys.stderr, flush=True)
    return tried


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--report", type=Path)
    chosen = options.parse_args()
    tried = run(chosen.count, chosen.seed, progress=True)
    report = json.dumps({"command": " ".join(["python", *sys.argv]), **asdict(tried)}, indent=2, ensure_ascii=True)
    print(f"\n{report}")
    if chosen.report:
        chosen.report.write_text(report + "\n", encoding="utf-8")
    return 1 if tried.failures or tried.over_limit else 0


if __name__ == "__main__":
    sys.exit(main())
