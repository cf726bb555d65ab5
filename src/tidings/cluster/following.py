"""How does a pipeline follow its load? After each batch its reports are looked at, and now and then parcels move.

What it remembers is in files: the reports of batches since the mapping in use was first used are the history that the
detector looks at, so a pipeline that is started again goes on where it was. Which parcels bring how much is counted on
the sample of posts that the pipeline keeps (:mod:`tidings.cluster.seen`), when something is to be moved and not before.

With the global adjustment it is also looked, now and then, whether another partitioning is clearly better
(:mod:`tidings.cluster.pipeline_repartitioning`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

from tidings.balancing import UNEVEN, Balancer, Detector, Detects, Global, Local, SelectorName, WorkDone, batch_loads
from tidings.balancing.padres import OnParcels, Stabilized
from tidings.cluster.counting import RECENT_POSTS, SOME_STANDING, loads_of, standing_at
from tidings.cluster.filings import some_terms
from tidings.cluster.journal import MatcherReport
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.pipeline_repartitioning import PipelineRepartitioner
from tidings.cluster.preparing import SMALL_BYTES
from tidings.cluster.releases import newest_release
from tidings.cluster.router_files import opened
from tidings.cluster.seen import Seen
from tidings.model import DataError
from tidings.partitioning import Move
from tidings.partitioning.load import COUNTED
from tidings.registry import Registry

Scope = Literal["local", "global", "padres"]
"""Parcels move, or now and then all is divided anew as well, by [PS2]; or parcels move by [PADRES]."""

_REST = 10
_BESIDE = replace(COUNTED, insertion=0.0, deletion=0.0)
"""What is moved is compiled beside the batches: nobody waits for it, so nothing has to be earned first."""

_MOST_BATCHES = 96
"""So many batches are looked at: what has not been uneven for longer than noise in these is even enough."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Balance:
    """When a pipeline moves parcels, and which: by the local adjustment of [PS2] (:mod:`tidings.balancing.local`), and
    with the ``scope`` ``"global"`` by its global adjustment as well (:mod:`tidings.balancing.globally`); or with
    ``"padres"`` by the decisions of [PADRES] (:mod:`tidings.balancing.padres.parcels`).

    Something moves when the most loaded matcher had more than ``uneven`` times the load of the least loaded one in the
    sum of ``hits`` batches or more, and by more than their noise (:class:`tidings.balancing.detecting.Detector`), not
    counting the ``pause`` batches after a move. ``select`` is the algorithm that chooses
    parcels, ``heaviest`` how many cells may be split or merged.

    Globally, a hybrid mapping is learned every ``check_s`` seconds. It is used for new subscriptions if the largest
    load with the mapping in use is ``better`` times that with the new one. The older ones are placed anew when they are
    at most a share ``few`` of all.

    By [PADRES], something moves when loads differ and were steady for ``pause`` batches; the others have no meaning.

    >>> Balance.of("local").select, Balance.of("global").policy_of_all.few, Balance.of("padres").scope, Balance.of(None)
    ('gr', 0.1, 'padres', None)
    """

    uneven: float = UNEVEN
    hits: int = 3
    pause: int = 3
    select: SelectorName = "gr"
    heaviest: int = 8
    scope: Scope = "local"
    check_s: float = 3600.0
    better: float = 1.1
    few: float = 0.1

    def __post_init__(self) -> None:
        _ = self.detector, self.policy, self.policy_of_all  # they refuse what is no good
        if self.scope not in get_args(Scope) or self.check_s < 0:
            names = ", ".join(get_args(Scope))
            raise DataError(f"a scope is one of {names}, and check_s is 0 or more, got {self}; choose others")

    @classmethod
    def of(cls, chosen: Balance | Scope | None) -> Balance | None:
        """The rule of that name; None if nothing is to be moved."""
        if isinstance(chosen, Balance) or chosen is None:
            return chosen
        if chosen not in get_args(Scope):
            names = ", ".join(map(repr, get_args(Scope)))
            raise DataError(f"load is balanced {names}, or not at all, got {chosen!r}; choose one of them")
        return cls(scope=chosen)

    @property
    def detector(self) -> Detects:
        if self.scope == "padres":
            return Stabilized(batches=self.pause)
        return Detector(self.uneven, self.hits, self.pause)

    @property
    def policy(self) -> Balancer:
        if self.scope == "padres":
            return OnParcels(costs=_BESIDE)
        return Local(uneven=self.uneven, heaviest=self.heaviest, select=self.select, costs=_BESIDE)

    @property
    def policy_of_all(self) -> Global:
        return Global(self.better, self.few)


class PipelineBalancer:
    """Looks at a pipeline after each batch. A plan is made beside the batches, or at once where that takes no time; it
    rests for ten times as long as the last plan took."""

    def __init__(
        self, home: PipelineFolder, rule: Balance, registry: Registry | None = None, small_bytes: int = SMALL_BYTES
    ) -> None:
        self._home, self._rule, self._small_bytes = home, rule, small_bytes
        self._of_all: PipelineRepartitioner | None = None
        if rule.scope == "global" and registry is not None:
            self._of_all = PipelineRepartitioner(home, registry, rule.policy_of_all, rule.check_s)
        self._thread: threading.Thread | None = None
        self._rests_until = 0.0
        self._looked_at = -1
        self._work: tuple[str, WorkDone] | None = None
        self._told: dict[int, tuple[str, WorkDone]] = {}

    def look(self, batch: int) -> None:
        """After a batch: adjust what is due."""
        is_busy = self._thread is not None and self._thread.is_alive()
        if is_busy or time.monotonic() < self._rests_until:
            return
        is_global, is_local = self._of_all is not None and self._of_all.is_due(batch), self.is_due(batch)
        if not (is_global or is_local):
            return
        if is_local:
            self._looked_at = batch
            _log.info("loads are uneven: a move is planned")
        adjust = partial(self._adjust, is_global, is_local)
        self._thread = threading.Thread(target=adjust, name="tidings balances", daemon=True)
        self._thread.start()
        files = newest_release(self._home.releases).routers
        if not is_global and sum(file.stat().st_size for file in files if file.exists()) <= self._small_bytes:
            self._thread.join()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until what is being planned is done, or so many seconds."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def is_due(self, batch: int) -> bool:
        """Whether loads were uneven since the mapping of a batch is in use, and no other one waits to be taken."""
        journal, mappings = self._home.journal, self._home.mappings
        pin = journal.pin(batch)
        if pin is None or mappings.newest(mappings.planned(pin.mapping)) != pin.mapping:
            return False
        history: list[WorkDone] = []
        for number in range(batch, max(self._looked_at, batch - _MOST_BATCHES), -1):
            found = self._work_of(number)
            if found is None or found[0] != pin.mapping:
                break
            history.insert(0, found[1])
        self._work = (pin.mapping, sum(history[1:], history[0])) if history else None
        return self._rule.detector.is_due([batch_loads(work, COUNTED) for work in history])

    def _work_of(self, batch: int) -> tuple[str, WorkDone] | None:
        """The mapping of a batch, and what its matchers did; None if that is not told, or if something was shed."""
        if batch not in self._told:
            pin, report = self._home.journal.pin(batch), self._home.journal.report(batch)
            if pin is None or report is None or pin.cut is not None:
                return None
            self._told[batch] = pin.mapping, work_of(report.loads, pin.matchers)
            self._told = {number: told for number, told in self._told.items() if number > batch - 2 * _MOST_BATCHES}
        return self._told[batch]

    def plan(self) -> list[Move]:
        """The moves that would make loads more even, for posts like the latest."""
        key, files, _ = newest_release(self._home.releases)
        mappings, posts = self._home.mappings, Seen(self._home.seen).table()
        is_newest = mappings.newest(mappings.planned(key.mapping)) == key.mapping
        mapping = mappings.mapping(key.mapping) if files and is_newest else None
        router, filings = opened(files)
        if mapping is None or posts is None or router is None:
            return []
        standing = standing_at(router, *some_terms(filings, SOME_STANDING))
        loads = loads_of(router, posts.slice(max(posts.num_rows - RECENT_POSTS, 0)), standing)
        if self._work is not None and self._work[0] == key.mapping:
            loads = replace(loads, matchers=self._work[1])
        return self._rule.policy.plan(loads, mapping)

    def _adjust(self, is_global: bool, is_local: bool) -> None:
        """Globally, and locally where nothing came of that."""
        began = time.monotonic()
        try:
            is_done = is_global and self._of_all is not None and bool(self._of_all.adjust())
            moves = self.plan() if is_local and not is_done else []
            if moves:
                _log.info("%d parcels move: the mapping %s", len(moves), self._home.move(moves))
        except Exception:  # whatever it is, batches go on
            _log.exception("no move was planned")
        self._rests_until = time.monotonic() + _REST * (time.monotonic() - began)


def work_of(reports: Iterable[MatcherReport], matchers: int) -> WorkDone:
    """What matchers did in a batch; one that is not told of did nothing."""
    work = WorkDone.none(matchers)
    for report in reports:
        work.posts[report.matcher], work.compared[report.matcher] = report.posts, report.compared
        work.found[report.matcher], work.ms[report.matcher] = report.found, report.ms
    return work
