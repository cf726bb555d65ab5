"""Is each publication past or future of a subscription, once, in whatever order threads go on?

Threads go on one step at a time, and a scheduler says which. All orders are tried.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tidings.engine import Engine
from tidings.engine.past import Past
from tidings.index.snapshot import Snapshot
from tidings.storage.kept import KeptPublications
from tidings.storage.kept_part import KeptParts

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
WAIT_S = 30


@dataclass
class Actor:
    """A thread that goes on when it is told to."""

    work: Callable[[], None]
    may_go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    waits_for: Lock | None = None
    is_done: bool = False


class Lock:
    """A lock for actors: who cannot have it is not chosen until it is free."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.is_free = True

    def __enter__(self) -> None:
        self._scheduler.pause(self)
        assert self.is_free
        self.is_free = False

    def __exit__(self, *_: object) -> None:
        self.is_free = True


class Scheduler:
    """Runs actors by a list of choices, and then the first that can; the last actor is the subscriber."""

    def __init__(self) -> None:
        self._current: Actor | None = None
        self._paused = threading.Semaphore(0)

    def pause(self, lock: Lock | None = None) -> None:
        """A step ends here. Who is no actor goes on."""
        actor = self._current
        if actor is None or threading.current_thread().name != "actor":
            return
        actor.waits_for = lock
        self._paused.release()
        assert actor.may_go.acquire(timeout=WAIT_S)
        actor.waits_for = None

    def run(self, works: list[Callable[[], None]], choices: list[int]) -> list[int]:
        """How many could go on at each step."""
        actors, degrees = [Actor(work) for work in works], list[int]()
        threads = [threading.Thread(target=self._act, args=(actor,), name="actor", daemon=True) for actor in actors]
        for thread in threads:
            thread.start()
        for actor in actors[:-1]:  # up to their first pause publishers do nothing that others see
            self._step(actor)
        while ready := [a for a in actors if not a.is_done and (a.waits_for is None or a.waits_for.is_free)]:
            chosen = choices[len(degrees)] if len(degrees) < len(choices) else 0
            degrees.append(len(ready))
            self._step(ready[chosen])
        self._current = None
        assert all(actor.is_done for actor in actors), "a deadlock"
        return degrees

    def _step(self, actor: Actor) -> None:
        self._current = actor
        actor.may_go.release()
        assert self._paused.acquire(timeout=WAIT_S)

    def _act(self, actor: Actor) -> None:
        assert actor.may_go.acquire(timeout=WAIT_S)
        try:
            actor.work()
        finally:
            actor.is_done = True
            self._paused.release()


def all_orders(run: Callable[[list[int]], list[int]]) -> Iterator[list[int]]:
    """Try one list of choices after the other until there is none that was not tried."""
    choices: list[int] | None = []
    while choices is not None:
        degrees = run(choices)
        made = choices + [0] * (len(degrees) - len(choices))
        yield made
        while made and made[-1] + 1 >= degrees[len(made) - 1]:
            made = made[:-1]
        choices = [*made[:-1], made[-1] + 1] if made else None


def pausing(scheduler: Scheduler, call: Callable[..., Any]) -> Callable[..., Any]:
    def paused(*args: Any, **options: Any) -> Any:
        scheduler.pause()
        return call(*args, **options)

    return paused


@pytest.mark.parametrize("publishers", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_all_interleavings_give_each_publication_once(publishers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler, engine = Scheduler(), Engine(keep=timedelta(days=1))
    steps = [(KeptPublications, "add"), (KeptParts, "read"), (Snapshot, "match_one")]
    for owner, name in steps:
        monkeypatch.setattr(owner, name, pausing(scheduler, getattr(owner, name)))
    assert isinstance(engine._past, Past)
    monkeypatch.setattr(engine._past, "_order", Lock(scheduler))
    runs, was_past, was_future = 0, 0, 0

    def run(choices: list[int]) -> list[int]:
        nonlocal runs, was_past, was_future
        word, found = f"word{runs}", list[str]()
        past: list[str] = []

        def publish(name: str) -> None:
            found.extend(match.publication_id for match in engine.publish(id=name, text=word))

        def subscribe() -> None:
            past.extend(match.publication_id for match in engine.subscribe(word, id=word, since=LONG_AGO).past)

        posts = [f"{word}-{number}" for number in range(publishers)]
        works: list[Callable[[], None]] = [lambda name=post: publish(name) for post in posts]  # type: ignore[misc]
        degrees = scheduler.run([*works, subscribe], choices)
        assert sorted(found + past) == posts, choices
        runs, was_past, was_future = runs + 1, was_past + len(past), was_future + len(found)
        return degrees

    tried = [tuple(choices) for choices in all_orders(run)]
    assert len(set(tried)) == runs > 5**publishers and min(was_past, was_future) > 0
