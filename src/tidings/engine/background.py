"""How does an engine tidy up while it goes on? In a thread, one at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)


class Background:
    """Runs one piece of work at a time in a thread of its own."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def has_begun(self) -> bool:
        """Whether there ever was something to do."""
        return self._thread is not None

    def start(self, work: Callable[[], None]) -> None:
        """Begin, unless something is still going on. Several threads may ask for it at once."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=logged, args=(work,), name="tidings-tidy", daemon=True)
                thread.start()
                self._thread = thread

    def join(self) -> None:
        """Wait for what is going on."""
        if self._thread is not None:
            self._thread.join()


def logged(work: Callable[[], None]) -> None:
    """Tidy up; what goes wrong is told, and stops nobody."""
    try:
        work()
    except Exception:
        _log.exception("tidying up failed; nothing is lost, and it is tried again later")
