"""What befalls a pipeline in the fault tests, and how is it seen that nothing was lost and nothing doubled?

A *trial* is a folder with posts, a registry that three processes write to, and a driver of two pipelines
(:mod:`tests.spark.driver`). A fault is a deed at a point of the driver: new posts come, the driver is let run to
that point and waits there, the deed is done, and it goes on, or the next one does. Then all that its sinks hold is
compared with brute force, row for row.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tests.spark import oracle
from tests.spark.driver import STEPS
from tidings.arrays.pages import replace_json
from tidings.cluster.overload import GovernorState
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.registry import Registry
from tools.kafka import Broker

ROOT = Path(__file__).parents[2]
POINTS = [f"{when} {step}" for step in STEPS for when in ("before", "after")]
FILES = 2
"""Posts come in so many files before each fault, each of which is a batch; the second one has a bad row."""

WRITERS = 3
Kind = Literal["driver", "worker", "executor", "disk", "broker"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something happens when the driver is at ``point`` for the ``count``-th time, or ``late_s`` after that."""

    kind: Kind
    point: str
    count: int = 1
    late_s: float = 0.0


def faults(kind: Kind, points: list[str], rng: random.Random, latest_s: float = 0.0) -> list[Fault]:
    """One for each point, the first or second time."""
    least_s = min(0.01, latest_s)
    return [Fault(kind, point, rng.randint(1, FILES), round(rng.uniform(least_s, latest_s), 2)) for point in points]


def of_session(leader: int, name: bytes) -> list[int]:
    """The living processes of a session that have a name in their command, also orphans, by /proc."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z" and name in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


class Trial:
    """Leaving its ``with`` block ends all processes, and looks whether the registry has what its writers were told.

    ``disk`` in ``folder`` is where all pipelines write to; whoever fills it has mounted something small there.
    """

    def __init__(
        self, folder: Path, seed: int, master: str = "local[2,4]", broker: Broker | None = None, java: str = "",
        *, sheds: bool = False,
    ) -> None:  # fmt: skip
        self.folder, self.master, self.broker, self._java, self._sheds = folder, master, broker, java, sheds
        self.registry = Registry(folder / "registry")
        self._rng = random.Random(seed)
        self._files = 0
        self._process: subprocess.Popen[str] | None = None
        self._enough = multiprocessing.get_context("spawn").Event()
        self._told = [folder / f"writer {number}.jsonl" for number in range(WRITERS)]
        self._writers = [
            multiprocessing.get_context("spawn").Process(
                target=oracle.subscribe_on, args=(folder / "registry", seed + number, told, self._enough)
            )
            for number, told in enumerate(self._told)
        ]

    def __enter__(self) -> Trial:
        (self.folder / "disk").mkdir(exist_ok=True)
        self.registry.add(oracle.subscriptions(self._rng, 150))
        for writer in self._writers:
            writer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._kill(self._process)
            self._process.__exit__(None, None, None)  # closes its pipes
        self._enough.set()
        for writer in self._writers:
            writer.join()
        if error is None:
            assert [writer.exitcode for writer in self._writers] == [0] * WRITERS
            self.check_registry()

    def run(self) -> None:
        """Let what there is be matched, and look at what came of it."""
        answer = self._ask("run")
        assert answer == "done", f"{answer}\n{self._log.read_text()[-6000:]}"
        if self.broker:
            assert self._ask("topics") == "done"
        self.check()

    def end(self) -> None:
        """Let the driver end in good order, and its JVM, which is the last of its group."""
        if self._process is not None:
            self._process.communicate()
            with suppress(ProcessLookupError):
                while True:
                    os.killpg(self._process.pid, 0)
                    time.sleep(0.1)

    def suffer(self, fault: Fault) -> str:
        """New posts and the fault; what the driver said to it, nothing if it died."""
        self.post()
        self._tell(f"aim {fault.point} {fault.count}")
        answer = self._ask("run")
        assert answer == "there", f"{fault} was not reached: {answer}\n{self._log.read_text()[-6000:]}"
        if fault.late_s:
            self._tell("go")
            time.sleep(fault.late_s)  # nothing is waited for: the moment is what varies
        undo = self._do(fault)
        if not fault.late_s and fault.kind != "driver":
            self._tell("go")
        answer = self._answer()
        undo()
        allowed = {"driver": "", "disk": "No space left on device", "broker": "failed"}.get(fault.kind, "done")
        assert answer == "done" or (allowed in answer and bool(answer) == bool(allowed)), f"{fault}: {answer}"
        return answer

    def check(self) -> None:
        """What the sinks and the reports hold is what brute force finds."""
        disk = self.folder / "disk"
        first, second = self._expected(disk / "first"), self._expected(disk / "second")
        parquet = ds.dataset(disk / "in parquet", partitioning="hive").to_table()
        assert first and oracle.rows_of(parquet) == sorted(row for rows in first.values() for row in rows)
        rows = sorted(row for rows in second.values() for row in rows)
        if self._sheds:
            kept = oracle.rows_of(pa.table(DeltaTable(disk / "in delta").to_pyarrow_table()))
            assert set(kept) <= set(rows) and len(kept) == len(set(kept))
            second = {batch: sorted(set(kept) & set(rows)) for batch, rows in second.items()}
        elif self.broker:
            values = pq.read_table(self.folder / "matches.parquet")["value"].unique()  # what is there again is the same
            found = [json.loads(value) for value in values.to_pylist()]
            columns = {name: [row[name] for row in found] for name in oracle.COLUMNS}
            columns["ts"] = [datetime.fromisoformat(ts) for ts in columns["ts"]]
            assert oracle.rows_of(pa.table(columns)) == rows
        else:
            assert oracle.rows_of(pa.table(DeltaTable(disk / "in delta").to_pyarrow_table())) == rows
        self._check_reports("first", first)
        self._check_reports("second", second)

    def check_registry(self) -> None:
        """The log has each change that a writer was told of, under the version it was told, and none besides."""
        told: dict[int, list[oracle.Row]] = {}
        for file in self._told:
            for line in file.read_text().splitlines():
                version, rows = json.loads(line)
                assert version not in told
                told[version] = [tuple(row) for row in rows]
        assert all(file.stat().st_size for file in self._told)
        found: dict[int, list[oracle.Row]] = {}
        for row in self.registry.changes(1).to_pylist():
            found.setdefault(row["version"], []).append((row["op"], row["id"], row["query"]))
        assert found == told

    def _check_reports(self, name: str, expected: dict[int, list[oracle.Row]]) -> None:
        home = PipelineFolder(self.folder / "disk" / name)
        reports = [report for batch in expected if (report := home.journal.report(batch))]
        assert [report.matches for report in reports] == [len(rows) for rows in expected.values()]
        assert sum(report.posts for report in reports) == self._files * oracle.ROWS
        kept = [pq.read_table(file).num_rows for file in home.rejected.glob("pipeline=*/batch=*/*.parquet")]
        assert sum(kept) == sum(report.rejected for report in reports) == self._files // FILES

    def _expected(self, checkpoint: Path) -> dict[int, list[oracle.Row]]:
        posts, batches = self.folder / "the posts", None
        if self.broker:
            batches = oracle.batches_of_offsets(checkpoint, pq.read_table(self.folder / "posts.parquet"), posts)
        else:
            files = [file for files in oracle.batches_of_files(checkpoint).values() for file in files]
            assert sorted(files) == sorted(posts.glob("*.parquet"))
        return oracle.expected(checkpoint, self.registry, batches)

    def post(self) -> None:
        """Let new posts come."""
        for number in range(self._files, self._files + FILES):
            oracle.write_posts(self.folder / "the posts", number, bad=number % FILES)
            if self.broker:
                assert self._ask(f"post {self.folder / 'the posts' / f'{number:06}.parquet'}") == "done"
        self._files += FILES

    def _do(self, fault: Fault) -> Callable[[], object]:
        """Let it happen; what is given back ends it."""
        assert self._process is not None
        if fault.kind == "driver":
            self._kill(self._process)
        elif fault.kind == "worker":
            self._kill_one(b"pyspark.daemon")
        elif fault.kind == "executor":
            self._kill_one(b"CoarseGrainedExecutorBackend")
        elif fault.kind == "disk":
            return fill(self.folder / "disk", self._rng.choice([0, 4, 16, 64])).unlink
        else:
            return self._stop_broker()
        return lambda: None

    def _kill(self, process: subprocess.Popen[str]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _kill_one(self, name: bytes) -> None:
        assert self._process is not None
        victims: list[int] = []
        while not victims:
            time.sleep(0.01)
            assert self._process.poll() is None
            victims = of_session(self._process.pid, name)
        os.kill(self._rng.choice(victims), signal.SIGKILL)

    def _stop_broker(self) -> Callable[[], object]:
        """Stopped in good order, killed, or frozen; a while later it serves again."""
        assert self.broker is not None and self.broker.pid is not None
        process = self.broker.pid
        how, away_s = self._rng.choice(["stop", "kill", "freeze"]), self._rng.uniform(0, 15)
        if how == "freeze":
            os.kill(process, signal.SIGSTOP)
            timer = threading.Timer(away_s, os.kill, (process, signal.SIGCONT))
        else:
            self.broker.stop() if how == "stop" else self.broker.kill()
            timer = threading.Timer(away_s, self.broker.start)
        timer.start()
        return timer.join

    @property
    def _log(self) -> Path:
        return self.folder / "driver.log"

    def _ask(self, order: str) -> str:
        self._tell(order)
        return self._answer()

    def _tell(self, order: str) -> None:
        if self._process is None or self._process.poll() is not None:
            servers = [self.broker.servers] if self.broker else []
            command = [sys.executable, "-m", "tests.spark.driver", str(self.folder), self.master, *servers]
            if self._process is not None:
                self._process.__exit__(None, None, None)
            pipe = subprocess.PIPE
            with self._log.open("w") as log:
                env = os.environ | {"DRIVER_JAVA": self._java, "DRIVER_SHEDS": "1" if self._sheds else ""}
                self._process = subprocess.Popen(
                    command, cwd=ROOT, env=env, stdin=pipe, stdout=pipe, stderr=log, text=True, bufsize=1
                )
        assert self._process.stdin is not None
        print(order, file=self._process.stdin, flush=True)

    def _answer(self) -> str:
        """A line; none from the dead."""
        assert self._process is not None and self._process.stdout is not None
        return self._process.stdout.readline().strip()


NEVER = 1e12
"""A decision at that time is the last one: the level stays as it is."""


def stay_at(level: int, checkpoint: Path) -> None:
    """Let the next batches of a pipeline have a level."""
    checkpoint.mkdir(exist_ok=True)
    replace_json(
        PipelineFolder(checkpoint).overload, asdict(GovernorState(level=level, last=(NEVER, 0.0, 0.0), ended_s=NEVER))
    )


def archived(folder: Path) -> str:
    """The options with which a JVM starts from an archive of what a driver has loaded: in half the time."""
    file = folder / "classes.jsa"
    with Trial(folder, 0, java=f"-XX:ArchiveClassesAtExit={file}") as trial:
        trial.post()
        trial.run()
        trial.end()
    return f"-XX:SharedArchiveFile={file}"


def fill(folder: Path, left_kb: int) -> Path:
    """Leave so much room on the disk of a folder; the file that takes the rest."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        file.truncate(max(0, file.tell() - (left_kb << 10)))
    return ballast
