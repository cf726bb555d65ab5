"""How long does it take to open a folder of subscriptions, in a process that has just begun?

The folder is made once, then opened by new processes in turn: as an engine, and its mapped index alone. ``open`` begins
when tidings is imported, but not yet what is loaded when it is first used, compiled kernels above all; ``again`` is a
second time in the same process, without that. ``process`` is everything from beginning to end. The files were just
written, so they are in the machine's memory. All are medians.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

from benchmarks.latency import Post, single_posts
from benchmarks.matching import Advance, Workload, silent
from tidings.analysis import ENGLISH
from tidings.engine import Engine
from tidings.engine.saving import INDEX
from tidings.index import GuardIndex
from tidings.index.store import MANIFEST, Store
from tidings.model import DataError, Publication
from tidings.model.values import utc_now

What = Literal["engine", "index"]
_TIMES = ("open", "first_post", "again", "process")


def measure(workload: Workload, folder: Path, rounds: int = 5, advance: Advance = silent) -> dict[str, Any]:
    """The figures of a folder with the workload's subscriptions; ``advance`` is told of each process."""
    post = single_posts(workload.posts.slice(0, 1))[0]
    began = time.perf_counter()
    with Engine(folder, sample=workload.sample) as engine:
        engine.subscribe_many(workload.subscriptions)
        engine.compact()
        expected = len(engine.publish(id=post[0], text=post[1]))
    made_s = time.perf_counter() - began
    found: dict[What, list[dict[str, float]]] = {"engine": [], "index": []}
    for _ in range(rounds):
        for what, own in found.items():
            began = time.perf_counter()
            own.append(_in_a_new_process(what, folder, post))
            own[-1]["process_s"] = time.perf_counter() - began
            advance(1)
            if (own[-1]["subscriptions"], own[-1]["matches"]) != (workload.subscriptions.num_rows, expected):
                raise DataError(f"{folder}: opened, the {what} has other subscriptions or matches; please report it")
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        "rounds": rounds,
        "made_s": round(made_s, 2),
        "folder_bytes": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        **_medians("engine", found["engine"]),
        **_medians("index", found["index"]),
    }


def opened(what: What, folder: Path, post: Post) -> dict[str, float]:
    """Open a folder, match one post, and open it again, in this process: seconds of each, and what was found."""
    began = time.perf_counter()
    first = _open(what, folder)
    ready = time.perf_counter()
    found = (
        first.publish(id=post[0], text=post[1]) if isinstance(first, Engine) else first.match_one(Publication(*post))
    )
    matched = time.perf_counter()
    again = _open(what, folder)
    done = time.perf_counter()
    return {
        "open_s": ready - began,
        "first_post_s": matched - ready,
        "again_s": done - matched,
        "matches": len(found),
        "subscriptions": min(len(first), len(again)),
    }


def _open(what: What, folder: Path) -> Engine | GuardIndex:
    if what == "engine":
        return Engine(folder)
    language = json.loads((folder / INDEX / MANIFEST).read_text(encoding="utf-8"))["language"]
    found = GuardIndex.opened(Store(folder / INDEX, language), ENGLISH, None, utc_now)
    if found is None:
        raise DataError(f"{folder}: there is no index")
    return found[0]


def _in_a_new_process(what: What, folder: Path, post: Post) -> dict[str, float]:
    code = (
        "import json, sys; from pathlib import Path; from benchmarks.opening import opened; "
        "sys.stdout.write(json.dumps(opened(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))))"
    )
    command = [sys.executable, "-c", code, what, str(folder), json.dumps(post)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise DataError(f"{folder}: a new process could not open it: {ran.stderr.strip()[-500:]}")
    figures: dict[str, float] = json.loads(ran.stdout)
    return figures


def _medians(what: What, runs: list[dict[str, float]]) -> dict[str, float]:
    """In milliseconds."""
    medians = {name: statistics.median(run[f"{name}_s"] for run in runs) for name in _TIMES}
    return {f"{what}_{name}_ms": round(1000 * seconds, 1) for name, seconds in medians.items()}
