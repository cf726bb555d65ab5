"""Do brokers keep their promises as real processes? A head, four edges, subscribers that all join at one of them.

Publications come all the time. Load is balanced, so subscribers move. Midway an edge broker is killed and started
again. Publisher and subscribers are in this process, so that latencies are by one clock.

What is promised is told exactly (docs/brokers.md). To a subscriber of the killed broker nothing is promised of what was
published after the last publication that it had got by then, nor before its subscription was accepted again, and two
seconds more, in which that reaches the publisher. A broker sends a subscriber its publications in their order, so
whatever is missing before that last one was lost. One that was moving away has got them by two ways, so for it a
latency takes the place of the order: that of the slowest delivery of the run.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.matching import Advance, silent
from tidings.broker import BrokerClient, Feed
from tidings.language import evaluate, parse
from tidings.model import Publication, Query
from tidings.simulate.workload import Quotes

NAMES = ("B0", "B1", "B2", "B3", "B4")
_FIRST, _DOWN_S, _GRACE_S, _QUIET_S, _PATIENCE_S = "B1", 1.0, 2.0, 10.0, 60.0
_SYMBOLS, _STRIDE = 40, 7919
_PARAMETERS = """
[parameters]
local_pie_publishing_period_s = 1.0
stabilize_duration_s = 1.0
local_detection_minimum_interval_s = 0.5
local_detection_maximum_interval_s = 1.0
press_timeout_s = 3.0
[limits]
handshake_s = 30.0
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """``rate`` publications a second for ``seconds``; each broker sends at most ``mbps``."""

    subscribers: int = 500
    seconds: float = 60.0
    rate: float = 20.0
    mbps: float = 1.0
    seed: int = 1


class Processes:
    """Five brokers, each a process of its own."""

    def __init__(self, folder: Path, mbps: float) -> None:
        self.secret = secrets.token_hex(16).encode()
        self._folder = folder
        (folder / "secret").write_bytes(self.secret)
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in NAMES]
        self.addresses = {n: f"127.0.0.1:{s.getsockname()[1]}" for n, s in zip(NAMES, sockets, strict=True)}
        for each in sockets:
            each.close()
        edges = ", ".join(f'"{name}"' for name in NAMES[1:])
        (folder / "brokers.toml").write_text(
            f'secret_file = "secret"\nbandwidth_mbps = {mbps}\n'
            f'[[cluster]]\nname = "C0"\nhead = "B0"\nedges = [{edges}]\n[addresses]\n'
            + "".join(f'{name} = "{address}"\n' for name, address in self.addresses.items())
            + _PARAMETERS,
            encoding="utf-8",
        )
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        code = "from tidings.cli.main import main; main()"
        command = [sys.executable, "-c", code, "broker", "--config", str(self._folder / "brokers.toml")]
        log = (self._folder / f"{name}.log").open("ab")
        self._running[name] = subprocess.Popen([*command, "--name", name], stdout=log, stderr=log)
        log.close()

    def kill(self, name: str) -> None:
        process = self._running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait()

    async def are_up(self) -> None:
        """Wait until all of them listen."""
        for name, address in self.addresses.items():
            host, port = address.split(":")
            while True:
                try:
                    _, writer = await asyncio.open_connection(host, int(port))
                    writer.close()
                    break
                except OSError:
                    if self._running[name].poll() is not None:
                        raise RuntimeError((self._folder / f"{name}.log").read_text()) from None
                    await asyncio.sleep(0.05)


@dataclass(slots=True)
class Subscriber:
    """What one subscriber asked for and got."""

    query: Query
    feed: Feed
    got: Counter[int] = field(default_factory=Counter)
    away: tuple[float, float] = (inf, -inf)
    """When it was not promised anything."""
    is_hit: bool = False
    """Whether its broker was killed."""
    was_moving: bool = False
    """Whether that was so while it moved to another one."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A delivery: when its publication was sent, how long it took, and the home of the subscriber."""

    sent: float
    delay: float
    home: str


@dataclass(slots=True)
class Diary:
    """What happened: publications with their times, deliveries, and who was where, second by second."""

    began: float = field(default_factory=time.monotonic)
    published: list[tuple[float, Publication]] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    homes: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    killed: str = ""
    killed_at: float = 0.0

    @property
    def now(self) -> float:
        return time.monotonic() - self.began


def measure(plan: Plan, advance: Advance = silent) -> tuple[dict[str, Any], Diary]:
    with TemporaryDirectory() as folder:
        brokers = Processes(Path(folder), plan.mbps)
        try:
            for name in NAMES:
                brokers.start(name)
            return asyncio.run(_play(plan, brokers, advance))
        finally:
            brokers.stop()


async def _play(plan: Plan, brokers: Processes, advance: Advance) -> tuple[dict[str, Any], Diary]:
    await brokers.are_up()
    quotes = Quotes(_SYMBOLS, plan.seed)
    posts = [post for _, own in quotes.publishers() for post in own]
    async with AsyncExitStack() as stack:
        exchange = await stack.enter_async_context(BrokerClient("exchange", brokers.addresses["B0"], brokers.secret))
        await exchange.advertise("class:STOCK")
        subscribers = []
        for number, query in enumerate(quotes.subscriptions(plan.subscribers, 0.25)):
            client = BrokerClient(f"s{number}", brokers.addresses[_FIRST], brokers.secret)
            await stack.enter_async_context(client)
            subscribers.append(Subscriber(parse(query), await client.subscribe(query)))
        await asyncio.sleep(_GRACE_S)
        diary = Diary()
        reading = [asyncio.create_task(_read(each, diary)) for each in subscribers]
        watching = asyncio.create_task(_watch(subscribers, diary))
        killing = asyncio.create_task(_kill(plan, brokers, subscribers, diary))
        await _publish(plan, exchange, posts, diary, advance)
        await killing
        await _settle(subscribers, diary)
        for task in (*reading, watching):
            task.cancel()
        await asyncio.gather(*reading, watching, return_exceptions=True)
    return _figures(plan, subscribers, diary), diary


async def _publish(
    plan: Plan, exchange: BrokerClient, posts: list[Publication], diary: Diary, advance: Advance
) -> None:
    while diary.now < plan.seconds:
        number = len(diary.published)
        source = posts[number * _STRIDE % len(posts)]
        post = Publication(f"q{number}", attributes=dict(source.attributes) | {"number": number, "sent": diary.now})
        diary.published.append((diary.now, post))
        await exchange.publish(post)
        advance(1)
        await asyncio.sleep(max(0.0, (number + 1) / plan.rate - diary.now))


async def _read(subscriber: Subscriber, diary: Diary) -> None:
    async for post in subscriber.feed:
        number, sent = post.value("number"), post.value("sent")
        assert isinstance(number, int)
        assert isinstance(sent, int | float)
        subscriber.got[number] += 1
        diary.arrivals.append(Arrival(float(sent), diary.now - float(sent), subscriber.feed.migrant.home))


async def _watch(subscribers: list[Subscriber], diary: Diary) -> None:
    while True:
        counts = Counter(each.feed.migrant.home for each in subscribers)
        diary.homes.append((diary.now, {name: counts[name] for name in NAMES[1:]}))
        await asyncio.sleep(1.0)


async def _kill(plan: Plan, brokers: Processes, subscribers: list[Subscriber], diary: Diary) -> None:
    """Kill the broker with the most subscribers beside the first one, or that, and start it again."""
    await asyncio.sleep(plan.seconds / 2)
    counts = Counter(each.feed.migrant.home for each in subscribers)
    name = max(NAMES[2:], key=lambda each: counts[each])
    name = name if counts[name] else _FIRST
    diary.killed, diary.killed_at = name, diary.now
    for each in subscribers:
        if each.feed.migrant.home == name:
            each.is_hit, each.was_moving = True, each.feed.migrant.moving is not None
            each.away = (diary.published[max(each.got)][0] if each.got else -inf, inf)
    brokers.kill(name)
    await asyncio.sleep(_DOWN_S)
    brokers.start(name)
    await brokers.are_up()
    hit = [each for each in subscribers if each.is_hit]
    while any(_is_away(each, diary) for each in hit) and diary.now < diary.killed_at + _PATIENCE_S:
        await asyncio.sleep(_QUIET_S / 100)
    for each in hit:  # whoever is not back now is lost
        back = diary.now if _is_away(each, diary) else each.feed.joined_at - diary.began
        each.away = (each.away[0], max(back, diary.killed_at) + _GRACE_S)


def _is_away(subscriber: Subscriber, diary: Diary) -> bool:
    """Whether it is still a subscriber of the killed broker, which does not know it yet."""
    feed = subscriber.feed
    return feed.migrant.home == diary.killed and feed.joined_at - diary.began < diary.killed_at


async def _settle(subscribers: list[Subscriber], diary: Diary) -> None:
    """Wait until nothing has come for a while and nobody moves."""
    deadline = diary.now + 6 * _QUIET_S
    while diary.now < deadline:
        before = len(diary.arrivals)
        await asyncio.sleep(_QUIET_S / 5)
        if len(diary.arrivals) == before and not any(each.feed.migrant.moving for each in subscribers):
            return


def _figures(plan: Plan, subscribers: list[Subscriber], diary: Diary) -> dict[str, Any]:
    delays = sorted(each.delay for each in diary.arrivals)
    homes = Counter(each.feed.migrant.home for each in subscribers)
    hit = [each for each in subscribers if each.is_hit]
    return {
        "brokers": len(NAMES),
        "subscribers": plan.subscribers,
        "seconds": plan.seconds,
        "publications": len(diary.published),
        "deliveries": len(diary.arrivals),
        **_promises(subscribers, diary, slowest=delays[-1]),
        "twice_to_the_application": sum(count - 1 for each in subscribers for count in each.got.values()),
        "duplicates_dropped": sum(each.feed.repeats for each in subscribers),
        "subscribers_that_moved": sum(each.feed.migrant.home != _FIRST for each in subscribers),
        "edge": list(NAMES[1:]),
        "subscribers_by_broker": [homes[name] for name in NAMES[1:]],
        "deliveries_per_s_by_broker_at_first": _rates(diary, 0, plan.seconds / 10),
        "deliveries_per_s_by_broker_at_last": _rates(diary, 0.9 * plan.seconds, plan.seconds),
        "killed_at_s": round(diary.killed_at, 1),
        "subscribers_of_the_killed": len(hit),
        "all_back_after_s": round(max((each.away[1] - _GRACE_S - diary.killed_at for each in hit), default=0.0), 1),
        "latency_median_ms": round(1e3 * median(delays), 2),
        "latency_p99_ms": round(1e3 * delays[int(0.99 * len(delays))], 2),
        "latency_max_ms": round(1e3 * delays[-1], 1),
        "processors": len(os.sched_getaffinity(0)),
    }


def _promises(subscribers: list[Subscriber], diary: Diary, slowest: float) -> dict[str, int]:
    """What was promised, what was lost, and what came to somebody who had not asked for it."""
    lost = wrong = unpromised = promised = 0
    for each in subscribers:
        begin, end = each.away
        begin = min(begin, diary.killed_at - slowest) if each.was_moving else begin
        for number, (sent, post) in enumerate(diary.published):
            answers, is_away = evaluate(each.query, post), begin < sent <= end
            promised += answers and not is_away
            lost += answers and not is_away and not each.got[number]
            unpromised += answers and is_away and not each.got[number]
            wrong += not answers and each.got[number]
    return {
        "promised": promised,
        "promised_and_lost": lost,
        "lost_while_their_broker_was_dead": unpromised,
        "wrong": wrong,
    }


def _rates(diary: Diary, begin: float, end: float) -> list[float]:
    """How many deliveries a second each edge had in some time, by the homes of those who got them."""
    counts = Counter(each.home for each in diary.arrivals if begin <= each.sent < end)
    return [round(counts[name] / (end - begin), 1) for name in NAMES[1:]]


def draw(diary: Diary, path: Path) -> None:
    """Latency and homes over time."""
    from tidings.cli.plot import Curve, Panel, save

    by_second: dict[int, list[float]] = {}
    for each in diary.arrivals:
        by_second.setdefault(int(each.sent), []).append(1e3 * each.delay)
    seconds = sorted(by_second)
    typical = [median(by_second[second]) for second in seconds]
    slow = [sorted(by_second[second])[int(0.99 * len(by_second[second]))] for second in seconds]
    curves = [Curve("median", seconds, typical), Curve("99 %", seconds, slow)]
    times = [at for at, _ in diary.homes]
    homes = [Curve(name, times, [counts[name] for _, counts in diary.homes]) for name in NAMES[1:]]
    title = f"latency, ms; a broker dies at {diary.killed_at:.0f} s"
    save(path, "seconds", [Panel(title, curves=curves, log_up=True), Panel("subscribers", curves=homes)], log=False)
