"""When does the process of a broker end? When it is told to."""

from __future__ import annotations

import asyncio
import signal

from tidings.broker.config import BrokerConfig
from tidings.broker.server import BrokerServer


async def serve(config: BrokerConfig) -> None:
    """Run a broker until SIGINT or SIGTERM."""
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    async with BrokerServer(config):
        await end.wait()
