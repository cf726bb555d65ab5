"""Where does one message end and the next begin? Frames: a header with a version and a length, then the message."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from tidings.model import TidingsError

MAGIC = b"tdg"
VERSION = 1
_HEADER = Struct(">3sBI")
HEADER_BYTES = _HEADER.size


class FrameError(TidingsError):
    """Bytes that are no message of ours. Whoever sent them is disconnected."""


def framed(body: bytes, version: int = VERSION) -> bytes:
    """A message as it goes over a connection.

    >>> framed(b"{}")
    b'tdg\\x01\\x00\\x00\\x00\\x02{}'
    """
    return _HEADER.pack(MAGIC, version, len(body)) + body


class FrameSplitter:
    """Cuts a stream of bytes into messages. It holds at most one message of ``limit`` bytes, and what came behind it.

    >>> splitter = FrameSplitter(limit=100)
    >>> list(splitter.feed(framed(b"one") + framed(b"two")[:9])), list(splitter.feed(b"wo"))
    ([b'one'], [b'two'])
    >>> list(splitter.feed(b"GET / HTTP/1.1"))
    Traceback (most recent call last):
    tidings.broker.frames.FrameError: this is no frame: it begins with b'GET'
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = bytearray()

    def __len__(self) -> int:
        return len(self._held)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that are complete with this; refuses with FrameError as soon as a header is wrong."""
        self._held += data
        while True:
            length = self._length()
            if length is None or len(self._held) < HEADER_BYTES + length:
                return
            body = bytes(self._held[HEADER_BYTES : HEADER_BYTES + length])
            del self._held[: HEADER_BYTES + length]
            yield body

    def _length(self) -> int | None:
        """The length of the next message; None if its header has not come."""
        begin = bytes(self._held[: len(MAGIC)])
        if begin != MAGIC[: len(begin)]:
            raise FrameError(f"this is no frame: it begins with {begin!r}")
        if len(self._held) < HEADER_BYTES:
            return None
        _, version, length = _HEADER.unpack_from(self._held)
        if version != VERSION:
            raise FrameError(f"version {VERSION} is spoken here, got version {version}")
        if length > self.limit:
            raise FrameError(f"a message has at most {self.limit:,} bytes here, got one of {length:,}")
        return int(length)
