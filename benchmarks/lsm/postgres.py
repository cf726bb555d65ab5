"""How does a plain PostgreSQL do the operations of [LSM] 7? With two tables and their indexes, on a server of its own.

It replaces PADRES of the paper, which kept its past in PostgreSQL. Each operation is one statement that inserts and
selects, prepared once, over a Unix socket. Nothing is synced to disk, as in RocksDB without ``sync``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.lsm.drivers import AROUND, BODY, KEPT, SECOND
from benchmarks.lsm.workload import Step
from tidings.model import DataError

OWNER = "postgres"
"""Whose the server is where we are root: PostgreSQL refuses to run as root."""

_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "256MB",
    "listen_addresses": "",
    "max_wal_size": "4GB",
    "max_connections": "10",
}
_SCHEMA = """
CREATE TABLE publications (label bytea, at bigint, t_max bigint, id text, body bytea);
CREATE TABLE subscriptions (label bytea, t_min bigint, t_max bigint, id text, subscriber text);
CREATE INDEX ON publications (label, at);
CREATE INDEX ON subscriptions (label, t_max);
CREATE INDEX ON publications (t_max);
CREATE INDEX ON subscriptions (t_max);
"""
_PUBLISH = """
WITH kept AS (INSERT INTO publications VALUES (%(label)s, %(now)s, %(ends)s, %(name)s, %(body)s))
SELECT id, subscriber, t_min, t_max FROM subscriptions
WHERE label = %(label)s AND t_max > %(now)s AND t_min <= %(now)s
"""
_SUBSCRIBE = """
WITH kept AS (INSERT INTO subscriptions VALUES (%(label)s, %(since)s, %(ends)s, %(name)s, %(name)s))
SELECT id, at, t_max, body FROM publications
WHERE label = %(label)s AND at >= %(since)s AND t_max > %(now)s
"""


def missing() -> str | None:
    """What is missing for a server, if anything."""
    if not (shutil.which("initdb") and shutil.which("postgres")):
        return "initdb and postgres are not on the PATH"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'psycopg[binary]'"
    return None


class Postgres:
    """A server in a folder that nobody else uses, and one connection to it."""

    def __init__(self, path: Path) -> None:
        import psycopg

        path.mkdir(parents=True)
        self._path = path
        self._owner = OWNER if os.geteuid() == 0 else None
        if self._owner:
            _open_to(path, self._owner)
        self._run("initdb", "--pgdata", str(path / "data"), "--auth", "trust", "--username", OWNER, "--no-sync")
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command = ["postgres", "-D", str(path / "data"), "-k", str(path), *settings]
        with (path / "log").open("wb") as log:
            self._server = subprocess.Popen(command, stdout=log, stderr=log, user=self._owner, cwd=path)
        self._db: psycopg.Connection[tuple[Any, ...]] = self._connected()
        self._db.execute(_SCHEMA)
        self._cleaned = 0

    def do(self, step: Step, name: str, now: int) -> int:
        if now >= self._cleaned + SECOND:
            self._clean(now)
        asked = {"label": step.label, "now": now, "name": name, "since": now - AROUND, "body": BODY}
        if step.publishes:
            found = self._db.execute(_PUBLISH, asked | {"ends": now + KEPT}, prepare=True)
        else:
            found = self._db.execute(_SUBSCRIBE, asked | {"ends": now + AROUND}, prepare=True)
        return len(found.fetchall())

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in (self._path / "data").rglob("*") if file.is_file())

    def close(self) -> None:
        self._db.close()
        self._server.terminate()
        self._server.wait()

    def _clean(self, now: int) -> None:
        """Once a second, what has ended."""
        self._cleaned = now
        for table in ("publications", "subscriptions"):
            self._db.execute(f"DELETE FROM {table} WHERE t_max <= %s", (now,))

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, user=self._owner, cwd=self._path, check=False)
        if done.returncode:
            raise DataError(f"{command[0]} failed: {done.stderr.strip()}")

    def _connected(self) -> Any:
        """A connection, as soon as the server takes one."""
        import psycopg

        for _ in range(100):
            try:
                return psycopg.connect(host=str(self._path), user=OWNER, dbname="postgres", autocommit=True)
            except psycopg.OperationalError as error:
                if self._server.poll() is not None:
                    said = (self._path / "log").read_text(encoding="utf-8")
                    raise DataError(f"postgres ended while it started: {said}") from error
                last = error
                time.sleep(0.1)
        self._server.terminate()
        raise DataError(f"postgres takes no connection: {last}")


def _open_to(path: Path, owner: str) -> None:
    """Let another user have a folder, and pass through those around it."""
    shutil.chown(path, owner)
    for folder in path.parents:
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o011)
