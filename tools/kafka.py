"""Is there a Kafka broker to try it on? One that this starts: real, alone, on free ports, and gone when you are.

``python tools/kafka.py install`` fetches the jars with Maven, once; ``start`` does so too, runs a broker in the
foreground and prints its address. It ends after ``--for-s`` seconds, with Ctrl-C, and with whoever started it. Tests
use :class:`Broker`.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from tidings.cli.java import NoJavaError, find_java
from tidings.model import DataError
from tidings.spark.jars import jar_folder

PROJECT = Path(__file__).parent / "broker"
PATIENCE_S = 60.0
_STAMP = "made-of"
_CLUSTER_ID = "dGlkaW5ncy1icm9rZXItMQ"
# Quick to start rather than fast for long; C1 alone halves the start.
_JVM = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners=CLIENT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=CLIENT://127.0.0.1:{port}
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller_port}
log.dirs={data}
num.partitions={partitions}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def install(project: Path = PROJECT) -> Path:
    """The folder of the jars, filled by Maven unless it was made of the same project; whoever comes second waits."""
    home = jar_folder()
    digest = _digest(project)
    if _made_of(home) == digest:
        return home
    with _alone(home):
        if _made_of(home) != digest:
            _fill(home, project, digest)
    return home


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Broker:
    """A broker with its data in ``folder``; ``start`` returns when it serves, on the same ports each time.

    A topic is made, with ``partitions`` partitions, when somebody first writes to it. ``stop`` is orderly, ``kill`` is
    not; after either it can be started again, with what it had. Starting takes some three seconds.
    """

    folder: Path
    partitions: int = 2
    port: int = field(init=False, default_factory=_free_port)
    controller_port: int = field(init=False, default_factory=_free_port)
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        if self._process is not None:
            raise DataError(f"the broker {self.servers} runs already; stop or kill it first")
        jars = install() / "broker"
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [str(find_java()), *_JVM, "-cp", f"{jars / 'classes'}:{jars / 'lib'}/*", "tidings.kafka.Broker"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self._properties()), _CLUSTER_ID],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        if not self._serves():
            self.kill()
            raise DataError(f"the broker did not start; the end of {self._log}:\n{self._log.read_text()[-2000:]}")

    def _serves(self) -> bool:
        """Wait until it says so, or has ended, or has taken too long."""
        assert self._process is not None and self._process.stdout is not None
        watch = threading.Timer(PATIENCE_S, self._process.kill)
        watch.start()
        try:
            return self._process.stdout.readline() == b"ready\n"
        finally:
            watch.cancel()

    def stop(self) -> None:
        """End it in good order, by the end of its input."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE_S)
        self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            with self._process:
                self._process = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _log(self) -> Path:
        return self.folder / "broker.log"

    def _properties(self) -> Path:
        file = self.folder / "broker.properties"
        ports = {"port": self.port, "controller_port": self.controller_port}
        file.write_text(_PROPERTIES.format(data=self.folder / "data", partitions=self.partitions, **ports))
        return file


def _digest(project: Path) -> str:
    sources = [project / "pom.xml", *sorted(project.glob("src/**/*.java"))]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _made_of(home: Path) -> str:
    with suppress(FileNotFoundError):
        return (home / _STAMP).read_text()
    return ""


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    home.parent.mkdir(parents=True, exist_ok=True)
    with (home.parent / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fill(home: Path, project: Path, digest: str) -> None:
    """Make everything aside and move it into place, so that what is there is whole."""
    maven = shutil.which("mvn")
    if maven is None:
        raise DataError("a Kafka broker needs a JDK 17 or newer and Maven (apt install maven, brew install maven)")
    print("fetching Kafka with Maven (once)", file=sys.stderr)
    aside = Path(tempfile.mkdtemp(dir=home.parent, prefix=f"{home.name}-"))
    try:
        command = [maven, "--quiet", "--batch-mode", "compile", f"-Djars={aside}"]
        built = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        if built.returncode:
            raise DataError(f"Maven could not fetch Kafka:\n{built.stdout[-2000:]}")
        (aside / _STAMP).write_text(digest)
        if home.exists():
            home.rename(aside / "before")
        aside.rename(home)
        shutil.rmtree(home / "before", ignore_errors=True)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _serve(seconds: float, folder: Path) -> None:
    """Until the time is up, somebody presses Ctrl-C, or whoever started this is gone."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parent = os.getppid()
    with Broker(folder) as broker, suppress(KeyboardInterrupt):
        end = time.monotonic() + seconds
        print(broker.servers, flush=True)
        print(f"a Kafka broker serves there for {seconds:g} s; Ctrl-C ends it", file=sys.stderr)
        while time.monotonic() < end and os.getppid() == parent:
            time.sleep(0.2)


def main() -> int:
    parser = argparse.ArgumentParser(description="A Kafka broker for tests and demos.")
    parser.add_argument("what", choices=["install", "start"], nargs="?", default="start")
    parser.add_argument("--for-s", type=float, default=3600.0, help="how many seconds it runs; an hour without")
    parser.add_argument("--folder", type=Path, help="keep its data here; a temporary folder without")
    options = parser.parse_args()
    try:
        install()
        if options.what == "start" and options.folder:
            _serve(options.for_s, options.folder.absolute())
        elif options.what == "start":
            with tempfile.TemporaryDirectory(prefix="tidings-kafka-") as folder:
                _serve(options.for_s, Path(folder))
    except (DataError, NoJavaError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
