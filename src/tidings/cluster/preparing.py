"""How does a pipeline get another mapping without a pause? Its release is compiled beside the batches that go on.

Until it is there, batches are pinned to the mapping that they have. The first pin after that names the new one: the pin
is the barrier.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tidings.cluster.releases import Releases
from tidings.registry import Registry

SMALL_BYTES = 8 << 20
"""An index of up to this size is compiled in half a second, so the batch that needs it does that itself."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Preparation:
    """Of which mapping a release is made, by which thread, and the releases that have it when it is there."""

    mapping: str
    thread: threading.Thread
    made: Releases | None = None


@dataclass(slots=True)
class Preparer:
    """Prepares one release at a time. ``make`` gives Releases of the same folder, to which nothing else has access."""

    registry: Registry
    make: Callable[[], Releases]
    small_bytes: int = SMALL_BYTES
    _under_way: _Preparation | None = field(default=None, init=False)

    @property
    def is_busy(self) -> bool:
        """Whether a release is being made, or waits to be taken: until then no files may be forgotten."""
        return self._under_way is not None

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until what is being prepared is there, or so many seconds."""
        if self._under_way is not None:
            self._under_way.thread.join(timeout_s)

    def chosen(self, releases: Releases) -> tuple[Releases, str]:
        """The releases that the next batch is to use, and its mapping; empty for the newest, which is there or small.

        Begins to prepare what will be needed. Cost: that of listing a folder.
        """
        switch = releases.switch()
        under_way = self._under_way
        if under_way is not None and under_way.thread.is_alive():
            return releases, switch.mapping if switch else under_way.mapping
        self._under_way = None
        if under_way is not None and under_way.made is not None:
            return under_way.made, under_way.mapping
        if switch is None or switch.size_bytes <= self.small_bytes or under_way is not None:
            return releases, ""  # where it could not be prepared, the batch says why
        self._begin(switch.wanted, switch.placement)
        return releases, switch.mapping

    def _begin(self, mapping: str, placement: str) -> None:
        def prepare() -> None:
            began, releases = time.perf_counter(), self.make()
            try:
                releases.prepare(self.registry, self.registry.version, mapping, placement)
                preparation.made = releases
                _log.info("the mapping %s is ready after %.1f s", mapping, time.perf_counter() - began)
            except Exception:  # whatever it is, batches go on
                _log.exception("the mapping %s could not be prepared", mapping)

        thread = threading.Thread(target=prepare, name="tidings prepares", daemon=True)
        self._under_way = preparation = _Preparation(mapping, thread)
        thread.start()
