"""Who is at the other end? Both sides prove that they know the secret, which itself is never sent.

The caller says hello with a nonce, gets a challenge with another one, and proves first. Each proof is an HMAC over both
nonces, both names and the side, so that none can be used again, or sent back to its author.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from typing import TypeVar

from tidings.broker.connection import Connection
from tidings.broker.frames import FrameError
from tidings.broker.messages import GREETINGS, Challenge, Goodbye, Hello, Proof, Welcome
from tidings.model.errors import quoted

ROLES = ("client", "broker")
_NAME = re.compile(r"[\w.:@-]{1,100}")
_T = TypeVar("_T")
_NONCE = re.compile(r"[0-9a-f]{32}")


async def call(connection: Connection, secret: bytes, name: str, role: str, timeout_s: float) -> str:
    """Introduce ourselves; returns the name of who answered."""
    async with asyncio.timeout(timeout_s):
        hello = Hello(name, role, secrets.token_hex(16))
        connection.send(hello)
        challenge = await _expect(connection, Challenge)
        _check(challenge.name, challenge.nonce)
        connection.send(Proof(proof(secret, "caller", hello, challenge)))
        welcome = await _expect(connection, Welcome)
        _check_proof(welcome.proof, proof(secret, "answerer", hello, challenge))
    return challenge.name


async def answer(connection: Connection, secret: bytes, name: str, timeout_s: float) -> Hello:
    """Let somebody introduce themselves."""
    async with asyncio.timeout(timeout_s):
        hello = await _expect(connection, Hello)
        _check(hello.name, hello.nonce)
        if hello.role not in ROLES:
            raise FrameError(f"a role is one of {', '.join(ROLES)}, got {quoted(hello.role)}")
        challenge = Challenge(name, secrets.token_hex(16))
        connection.send(challenge)
        given = await _expect(connection, Proof)
        _check_proof(given.proof, proof(secret, "caller", hello, challenge))
        connection.send(Welcome(proof(secret, "answerer", hello, challenge)))
    return hello


def proof(secret: bytes, side: str, hello: Hello, challenge: Challenge) -> str:
    """An HMAC-SHA-256 in hexadecimal. None of the parts has a space."""
    parts = (side, hello.role, hello.name, hello.nonce, challenge.name, challenge.nonce)
    return hmac.digest(secret, " ".join(parts).encode(), "sha256").hex()


async def _expect(connection: Connection, kind: type[_T]) -> _T:
    message = await connection.receive(GREETINGS)
    if isinstance(message, Goodbye):
        raise FrameError(f"refused: {message.reason}")
    if message is None:
        raise FrameError("the connection was closed in the middle of the handshake")
    if not isinstance(message, kind):
        raise FrameError(f"{kind.__name__} is expected, got {type(message).__name__}")
    return message


def _check(name: str, nonce: str) -> None:
    if not _NAME.fullmatch(name):
        raise FrameError(f"a name has 1 to 100 letters, digits and any of _.:@-, got {quoted(name)}")
    if not _NONCE.fullmatch(nonce):
        raise FrameError(f"a nonce has 32 hexadecimal digits, got {quoted(nonce)}")


def _check_proof(given: str, right: str) -> None:
    if not hmac.compare_digest(given.encode(), right.encode()):
        raise FrameError("the secrets are not the same")
