"""How do messages get from one process to another? A TCP connection with a bounded queue of what waits to be sent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from tidings.broker.codec import decode, encode
from tidings.broker.frames import FrameSplitter, framed
from tidings.broker.messages import Goodbye

HANDSHAKE_BYTES = 4096
"""So long may a message be before its sender has proved that it knows the secret."""
_CHUNK = 1 << 16
_BATCH = 1 << 12
_PARTING_S = 1.0
_SENDING_BYTES = 1 << 16
"""So much lies in the transport; the rest waits in our queue, where control messages overtake it."""


class SendingRate:
    """What all connections of a broker may send together."""

    def __init__(self, bytes_s: float) -> None:
        self._bytes_s = bytes_s
        self._free_at = 0.0

    async def take(self, size_bytes: int) -> float:
        """Wait until there is room for so many bytes; returns the seconds that they take."""
        takes_s = size_bytes / self._bytes_s
        now = asyncio.get_running_loop().time()
        self._free_at = max(self._free_at, now) + takes_s
        if self._free_at - now > 0.001:
            await asyncio.sleep(self._free_at - now)
        return takes_s


Sent = Callable[[int, float], None]
"""Told of bytes of publications that were sent, and how long that took."""


class Connection:
    """One TCP connection. ``send`` never waits: what does not fit is the caller's problem, which looks at ``waiting``.

    ``first`` messages overtake those that still wait in the queue.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message_bytes: int, stall_s: float = 30.0
    ) -> None:
        self._reader, self._writer = reader, writer
        self._message_bytes, self._stall_s = message_bytes, stall_s
        self._splitter = FrameSplitter(min(HANDSHAKE_BYTES, message_bytes))
        self._bodies: deque[bytes] = deque()
        self._first: deque[bytes] = deque()
        self._rest: deque[tuple[bytes, bool]] = deque()
        self._something = asyncio.Event()
        self._pace: SendingRate | None = None
        self._sent: Sent | None = None
        self.is_closed = False
        self.received_bytes = 0
        """Of the last message."""
        self.waiting = 0
        """Bytes that wait to be sent."""
        self.drained: Callable[[], None] = lambda: None
        """Called when some of them were sent."""
        writer.transport.set_write_buffer_limits(high=_SENDING_BYTES)
        self._sender = asyncio.create_task(self._send_all())

    def trust(self, pace: SendingRate | None = None, sent: Sent | None = None) -> None:
        """The handshake is over: longer messages are taken."""
        self._splitter.limit = self._message_bytes
        self._pace = pace
        self._sent = sent

    async def receive(self, kinds: tuple[type, ...]) -> Any:
        """The next message, None at the end; refuses with FrameError."""
        while not self._bodies:
            data = await self._reader.read(_CHUNK)
            if not data:
                return None
            self._bodies.extend(self._splitter.feed(data))
        body = self._bodies.popleft()
        self.received_bytes = len(body)
        return decode(body, kinds)

    def send(self, message: object, *, first: bool = False) -> None:
        self.put(framed(encode(message)), first=first)

    def put(self, frame: bytes, *, first: bool = False, is_data: bool = False) -> None:
        """Queue a frame."""
        if first:
            self._first.append(frame)
        else:
            self._rest.append((frame, is_data))
        self.waiting += len(frame)
        self._something.set()

    async def _send_all(self) -> None:
        try:
            while True:
                await self._something.wait()
                await self._send_some()
        except (OSError, TimeoutError):  # broken, or the other end does not read
            self._writer.transport.abort()

    async def _send_some(self) -> None:
        batch, data_bytes = bytearray(), 0
        while (self._first or self._rest) and len(batch) < _BATCH:
            frame, is_data = (self._first.popleft(), False) if self._first else self._rest.popleft()
            batch += frame
            data_bytes += len(frame) if is_data else 0
        if not (self._first or self._rest):
            self._something.clear()
        busy_s = await self._pace.take(len(batch)) if self._pace is not None else 0.0
        self._writer.write(batch)
        async with asyncio.timeout(self._stall_s):
            await self._writer.drain()
        self.waiting -= len(batch)
        if data_bytes and self._sent is not None:
            self._sent(data_bytes, busy_s * data_bytes / len(batch))
        self.drained()

    async def close(self, reason: str = "") -> None:
        """End the connection, with a reason if there is one to tell; what still waits is dropped."""
        self.is_closed = True
        self._sender.cancel()
        try:
            if reason and not self._writer.is_closing():
                self._writer.write(framed(encode(Goodbye(reason))))
            self._writer.close()
            async with asyncio.timeout(_PARTING_S):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()
