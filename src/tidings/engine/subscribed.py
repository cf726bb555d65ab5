"""What does somebody get who subscribes? The id of the subscription, its past, and warnings."""

from __future__ import annotations

from collections.abc import Iterable

from tidings.model import Match


class Subscribed(str):
    """The id of a subscription, with its past: the matches of publications that came before it, the newest first.

    ``complete``: whether all publications since its ``since`` were kept. ``warnings`` as those of a
    :class:`tidings.registry.Receipt`: what can never match, or is likely a habit of another language.
    """

    past: tuple[Match, ...]
    complete: bool
    warnings: tuple[str, ...] = ()

    def __new__(cls, name: str, past: Iterable[Match] = (), complete: bool = True) -> Subscribed:
        made = super().__new__(cls, name)
        made.past, made.complete = tuple(past), complete
        return made
