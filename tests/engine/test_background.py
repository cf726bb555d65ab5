"""Does one piece of work begin at a time, whoever asks for it at once?"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest

from tidings.engine.background import Background


def test_threads_that_begin_at_once_are_not_in_each_others_way(monkeypatch: pytest.MonkeyPatch) -> None:
    own, made, failed, worked = threading.Thread, threading.Barrier(2), list[BaseException](), list[int]()
    enough = threading.Event()

    def thread(**given: Any) -> threading.Thread:
        """The other one comes as far as this, if it can."""
        with suppress(threading.BrokenBarrierError):
            made.wait(0.2)
        return own(**given)

    def work() -> None:
        worked.append(1)
        enough.wait()

    def begin() -> None:
        try:
            background.start(work)
        except RuntimeError as error:
            failed.append(error)

    background = Background()
    monkeypatch.setattr("tidings.engine.background.threading.Thread", thread)
    both = [own(target=begin) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    enough.set()
    background.join()
    assert worked == [1] and not failed
