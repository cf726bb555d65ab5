"""What does somebody get who subscribes? The id of the subscription, and its past."""

from __future__ import annotations

from collections.abc import Iterable

from tidings.model import Match


class Subscribed(str):
    """The id of a subscription, with its past: the matches of publications that came before it, the newest first.

    ``complete``: whether all publications since its ``since`` were kept.
    """

    past: tuple[Match, ...]
    complete: bool

    def __new__(cls, name: str, past: Iterable[Match] = (), complete: bool = True) -> Subscribed:
        made = super().__new__(cls, name)
        made.past, made.complete = tuple(past), complete
        return made
