"""How long does one wait before trying again? Twice as long each time, up to a limit, and never exactly so."""

from __future__ import annotations

import asyncio
from random import Random

_FIRST_S, _LONGEST_S = 0.05, 2.0


class Backoff:
    """Waits between attempts to connect. Chance keeps many clients from coming back at the same moment."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._next_s = _FIRST_S

    def reset(self) -> None:
        """An attempt was successful."""
        self._next_s = _FIRST_S

    def take(self) -> float:
        """How long to wait now."""
        wait_s = self._next_s * self._random.uniform(0.5, 1.0)
        self._next_s = min(2 * self._next_s, _LONGEST_S)
        return wait_s

    async def wait(self) -> None:
        await asyncio.sleep(self.take())
