"""What must a store find? A list of all operations says so, entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from tidings.storage import LATEST, Found, KeySpace, MemorySpace, Operation, Publishing, Subscribing
from tidings.storage.rocks import RocksSpace

Ids = tuple[list[str], list[str]]


def ids_of(found: Found) -> Ids:
    return [post.id for post in found.publications], [one.id for one in found.subscriptions]


@dataclass
class Plain:
    """The operations so far, with their instants. ``meets`` says whether two labels meet."""

    meets: Callable[[bytes, bytes], bool] = bytes.__eq__
    done: list[tuple[Operation, int]] = field(default_factory=list)

    def apply(self, asked: Operation, now: int) -> Ids:
        earlier = [(one, at) for one, at in reversed(self.done) if self.meets(one.label, asked.label)]
        self.done.append((asked, now))
        is_publish = isinstance(asked, Publishing)
        end = LATEST if is_publish else asked.t_max
        posts = [
            one.id
            for one, at in earlier
            if isinstance(one, Publishing) and asked.t_min <= at < end and at < one.t_max and now < one.t_max
        ]
        subscriptions = [one.id for one, _ in earlier if isinstance(one, Subscribing) and one.t_min <= now < one.t_max]
        return (
            posts if asked.self_join or not is_publish else [],
            subscriptions if asked.self_join or is_publish else [],
        )


@dataclass
class ManualClock:
    now: int = 1_000

    def __call__(self) -> int:
        return self.now


def opened(kind: str, folder: Path, memory: dict[str, MemorySpace]) -> Callable[[str], KeySpace]:
    """Opens key spaces by name, on disk or in memory; those in memory outlive a store that is closed."""

    def space(name: str) -> KeySpace:
        return RocksSpace(folder / name) if kind == "rocks" else memory.setdefault(name, MemorySpace())

    return space


def compact(spaces: list[KeySpace]) -> None:
    """Let RocksDB write what it has in memory to sorted files, and merge those."""
    for space in spaces:
        if isinstance(space, RocksSpace):
            space._give_waiting()
            for family in space._families.values():
                family.flush()
                family.compact_range(None, None)


@st.composite
def operations(draw: st.DrawFn, labels: list[bytes], now: int, number: int) -> Operation:
    """An operation at an instant; its id is unique by its number."""
    label = draw(st.sampled_from(labels))
    t_min = now - draw(st.sampled_from([0, 1, 3, 10, 1_000_000]) | st.integers(-5, 40))
    t_max = draw(st.just(LATEST) | st.integers(max(t_min, now - 3) + 1, max(t_min, now) + 200))
    self_join = draw(st.booleans())
    if draw(st.booleans()):
        return Publishing(label, f"p{number}", t_max, b"body", min(t_min, t_max - 1), self_join)
    return Subscribing(label, f"s{number}", t_min, t_max, draw(st.sampled_from(["ada", "bob"])), self_join)
