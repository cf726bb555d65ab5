"""What does a pipeline do when more posts come than it can match? It lets them wait, or it leaves some work undone.

With ``overload="block"`` nothing is ever lost, and posts wait. With ``"shed"``, or an :class:`Overload` of one's own,
a :class:`Governor` looks before each batch how long the oldest post has waited (:mod:`tidings.cluster.backlog`), and
pins with the batch what is left undone of it, a :class:`tidings.cluster.cut.Cut`. By default that is just so much that
the batch fits into its time, as the batches before have shown (:mod:`tidings.shedding.capacity`); or a level goes up
and down, as in [S3TM] 5.2.2. All that it remembers is a file, so it goes on after a restart, in whatever process.

How many posts a batch may have is the source's to say: Spark takes ``maxOffsetsPerTrigger`` when a query starts and
never again, and to cut a batch that is there already into several would read it several times and give it several
names in every sink. So the admission that the governor learns is written down too. ``tidings_posts`` asks for it before
each batch; for any other source :func:`admitted` is the bound to start it with.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from tidings.arrays.pages import replace_json
from tidings.cluster.backlog import Backlog, planned_end
from tidings.cluster.cut import Cut
from tidings.cluster.journal import Report
from tidings.cluster.notes import Notes
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.model import DataError
from tidings.shedding import POLICIES, Controller, Graded, Levels, Memory, Profile, Timed, Work, allowed_s
from tidings.shedding.controller import Last
from tidings.shedding.pace import FIRST, Pace

_BATCHES = 4
"""So many batches fit into the delay that is tolerated: then a level has shown what it does before it is too late."""

_IDLE_S = 1.0

TO_CAPACITY = ("threshold", "random")
"""The policies that can shed to capacity."""

_AGREEING = 3
"""A level changes when so many looks at the queue agree."""


@dataclass(frozen=True, slots=True)
class Overload:
    """How a pipeline sheds, so that a post is matched about ``delay_s`` after it came.

    ``control`` says how much work is left undone. By ``"capacity"`` it is as much as the next batch has too much, by
    the time that those before it took; by ``"levels"`` it goes up and down by the steps of [S3TM] 5.2.2, of which
    ``first_limit``, ``delta`` and ``top`` say what they mean (:class:`tidings.shedding.Levels`). ``policy`` says which
    work that is; ``subscription`` and ``consensus`` go by levels only. The time between two batches, if one was asked
    for, does not count as waiting. Of a share of ``spared`` posts nothing is left out, and what they find says how much
    the others lose.

    >>> Overload(delay_s=2.0, control="levels").levels.limit(1)
    7.0
    """

    policy: Literal["threshold", "subscription", "consensus", "random"] = "threshold"
    delay_s: float = 5.0
    first_limit: float = 7.0
    delta: float = 6 / 7
    top: int = 11
    spared: float = 0.02
    control: Literal["capacity", "levels"] = "capacity"

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise DataError(f"there is no shedding policy {self.policy!r}; choose one of {', '.join(POLICIES)}")
        if self.control not in ("capacity", "levels"):
            raise DataError(f"control is 'capacity' or 'levels', got {self.control!r}; choose one of them")
        if self.control == "capacity" and self.policy not in TO_CAPACITY:
            raise DataError(
                f"by capacity the policy is {' or '.join(TO_CAPACITY)}, got {self.policy!r}; choose one of them,"
                " or control='levels'"
            )
        if not self.delay_s > 0:
            raise DataError(f"delay_s is a time in seconds, more than 0, got {self.delay_s:g}; give such a time")
        if not 0 <= self.spared < 1:
            raise DataError(f"spared is a share of the posts, 0 or more and less than 1, got {self.spared:g}")
        _ = self.levels  # checks the others

    @property
    def levels(self) -> Levels:
        return Levels(self.first_limit, self.delta, self.top)

    @property
    def batch_s(self) -> float:
        """How long a batch may take."""
        return self.delay_s / _BATCHES

    @classmethod
    def of(cls, asked: Overload | str) -> Overload | None:
        """What ``overload=`` of a pipeline means; None where nothing is shed."""
        if isinstance(asked, Overload):
            return asked
        if asked not in ("block", "shed"):
            raise DataError(f"overload is 'block', 'shed' or an Overload, got {asked!r}")
        return cls() if asked == "shed" else None


@dataclass(frozen=True, slots=True)
class GovernorState:
    """What a governor remembers, all times in seconds since 1970.

    ``basis``: what the posts were matched with; with another one, ``grades`` and profiles mean nothing. ``memory``: of
    the last batches; ``ended_s``, ``busy_s``, ``posts`` and ``excused_s``: of the last one, the last of them the time
    that it took to compile the index. ``admitted``: posts of a batch. Of levels: ``level``, ``last`` that of the
    controller, ``pace``, ``recent`` the last looks at the queue, and ``grades``: how many copies of the last batch, or
    posts where a post is one copy, had each grade.
    """

    level: int = 0
    last: Last | None = None
    pace: Pace = field(default_factory=Pace)
    ended_s: float = 0.0
    busy_s: float = 0.0
    grades: dict[int, int] = field(default_factory=dict)
    basis: str = ""
    version: int = -1
    memory: Memory = field(default_factory=Memory)
    posts: int = 0
    excused_s: float = 0.0
    admitted: int = 0
    recent: tuple[float, ...] = ()

    @classmethod
    def read(cls, file: Path) -> GovernorState:
        """That of a file; a new one if there is none, or no such one."""
        try:
            found = json.loads(file.read_text())
            grades = {int(grade): int(posts) for grade, posts in found["grades"].items()}
            pace = Pace(**found["pace"] | {"sums": tuple(found["pace"]["sums"])})
            last = None
            if found["last"] is not None:
                decided_s, fullness, at_step = found["last"]
                last = decided_s, fullness, at_step
            known = {"grades": grades, "pace": pace, "last": last, "memory": _memory(found["memory"])}
            return cls(**found | known | {"recent": tuple(map(float, found["recent"]))})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def on(self, basis: str, version: int) -> GovernorState:
        """The same where posts are matched with something else; an older version is of another registry."""
        if basis == self.basis and version >= self.version:
            return replace(self, version=version)
        memory = Memory(self.memory.batches)
        return replace(self, basis=basis, version=version, grades={}, memory=memory)


def _memory(found: dict[str, Any]) -> Memory:
    batches = tuple(Timed(Work(**batch["work"]), batch["seconds"]) for batch in found["batches"])
    grades = {int(grade): Graded(**one) for grade, one in found["profile"]["grades"].items()}
    return Memory(batches, Profile(**found["profile"] | {"grades": grades}))


class Basis(Protocol):
    """What posts are matched with: a :class:`tidings.cluster.releases.Release`."""

    @property
    def version(self) -> int: ...

    @property
    def layout(self) -> str: ...

    @property
    def mapping(self) -> str: ...

    @property
    def mark(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits when a batch is about to begin: its ``posts``, how long the oldest of them has waited, and how long
    the oldest has that is left for the next one."""

    posts: float
    age_s: float
    rest_s: float


@dataclass(frozen=True, slots=True)
class Governor:
    """Decides how much of each batch is left undone. ``every_s``: the time between two batches that was asked for."""

    home: PipelineFolder
    overload: Overload
    every_s: float = 0.0
    clock: Callable[[], float] = time.time

    def cut(self, batch: int, release: Basis, excused_s: float = 0.0, *, is_first: bool = False) -> Cut | None:
        """For a batch that is about to be pinned; None if all of it is done.

        ``excused_s``: so long it has just taken to compile the index. Posts have waited for that, but no longer will.
        ``is_first``: of a process. Its copies are graded even if none is left out: so their grades are known, and what
        sheds is loaded, before an overload begins.
        """
        before = GovernorState.read(self.home.overload)
        registry = release.mark.partition("/")[0]
        state = before.on(f"{release.layout} {release.mapping} {registry}", release.version)
        excused_s += before.excused_s  # what came while the batch before was compiled has waited for that
        if self.overload.control == "levels":
            state, cut = self._by_level(batch, state, release.layout, excused_s)
        else:
            cut = self._to_capacity(batch, state, excused_s)
            if cut is None and is_first:
                cut = Cut.nothing(self.overload.policy)
        replace_json(self.home.overload, asdict(state))
        return cut

    def _to_capacity(self, batch: int, state: GovernorState, excused_s: float) -> Cut | None:
        waits, overload = self.waiting(batch, state, self.clock()), self.overload
        delay_s = max(overload.delay_s, 2 * self.every_s)
        seconds = allowed_s(delay_s, waits.age_s - self.every_s, waits.rest_s, excused_s)
        capacity = state.memory.capacity(overload.spared)
        if capacity is None or math.isinf(seconds):
            return None
        kept = capacity.chosen(waits.posts, seconds, by_grade=overload.policy == "threshold")
        if kept is None:
            return None
        return Cut.to_capacity(kept, overload.policy, overload.spared, capacity.lost(kept))

    def _by_level(
        self, batch: int, state: GovernorState, layout: str, excused_s: float
    ) -> tuple[GovernorState, Cut | None]:
        now_s, levels = self.clock(), self.overload.levels
        idle_s = max(
            0.0, now_s - state.ended_s - self.every_s
        )  # in each period of which the level would have gone down
        before = state.level - int(idle_s / levels.period_s) if idle_s > _IDLE_S else state.level
        controller = Controller(levels, max(before, 0), state.last)
        recent = (*state.recent, self.fullness(batch, state, now_s, excused_s))[-_AGREEING:]
        level = controller.step(agreed(recent, levels.ideal), now_s)
        state = replace(state, level=level, last=controller.last, recent=recent)
        if not level:
            return state, None
        cut = Cut.of(level, levels, self.overload.policy, self.overload.spared)
        return state, cut.at(state.grades, layout)

    def waiting(self, batch: int, state: GovernorState, now_s: float) -> Waiting:
        """What waits, as the source tells; if it does not, what came during the last batch has waited for it."""
        backlog = Backlog.read(self.home.backlog)
        done = None if backlog is None else self._posts(range(backlog.batch + 1, batch))
        is_idle = now_s - state.ended_s > self.every_s + _IDLE_S  # nothing waited when the last batch had ended
        if backlog is None or done is None:
            return Waiting(state.posts, 0.0 if is_idle else state.busy_s, 0.0)
        begin = backlog.end + done
        if is_idle and begin >= backlog.latest:
            return Waiting(state.posts, 0.0, 0.0)
        end = planned_end(self.home.checkpoint, batch)
        age_s = backlog.age_s(begin, now_s)
        if end is None or end < begin:
            return Waiting(max(state.posts, 1), age_s, 0.0)
        return Waiting(end - begin, age_s, min(age_s, backlog.age_s(end, now_s)))

    def fullness(self, batch: int, state: GovernorState, now_s: float, excused_s: float = 0.0) -> float:
        """How long the oldest post has waited that is not in an earlier batch, where the tolerated delay is 1."""
        usual_s = self.every_s + min(state.busy_s, self.overload.batch_s)  # so long a post waits for the batch before
        age_s = self.waiting(batch, state, now_s).age_s
        return max(0.0, age_s - usual_s - excused_s) / self.overload.delay_s

    def _posts(self, batches: range) -> int | None:
        """How many posts some batches had; None if that is not known of all."""
        reports = [self.home.journal.report(number) for number in batches]
        return None if None in reports else sum(report.posts for report in reports if report)

    def learn(self, report: Report, notes: Notes, is_usual: bool, excused_s: float = 0.0) -> None:
        """After a batch, ``excused_s`` of which it took to compile the index.

        One that is not ``usual``, such as the first of a process, tells nothing of the speed, nor one that compiled.
        """
        state, seconds = GovernorState.read(self.home.overload), max(report.ms / 1e3 - excused_s, 0.0)
        is_usual, batch_s = is_usual and not excused_s, max(self.overload.batch_s, self.every_s)
        grades = graded(notes)
        memory = state.memory.after(Timed(worked(report, notes), seconds), grades, is_usual)
        newer = replace(
            state,
            pace=state.pace.after(report.posts, seconds, batch_s, report.level) if is_usual else state.pace,
            ended_s=self.clock(),
            busy_s=seconds,
            grades={grade: int(one.wanted) for grade, one in grades.items()} or state.grades,
            memory=memory,
            posts=report.posts,
            excused_s=excused_s,
            admitted=(memory.admitted(max(self.overload.delay_s / 2, self.every_s)) or 0),
        )
        replace_json(self.home.overload, asdict(newer))


def agreed(recent: Sequence[float], ideal: float) -> float:
    """How full the queue is, where all of the last looks say so; else it is taken as stable, and no level changes.

    A queue that is too full and shrinks is stable too: nothing has to be done about it.

    >>> agreed([1.2, 1.5, 1.3], 0.45), agreed([0.2, 1.5, 1.1], 0.45), agreed([3.2, 2.1, 1.1], 0.45)
    (1.3, 0.725, 0.725)
    """
    is_overload = min(recent) >= 1 and recent[-1] >= recent[0]
    is_clear = len(recent) >= _AGREEING and (is_overload or max(recent) < ideal)
    return recent[-1] if is_clear else (1 + ideal) / 2


def graded(notes: Notes) -> dict[int, Graded]:
    """The copies of each grade, where these compete, and what was found in those that were matched."""
    found: dict[int, Graded] = {}
    for grade, copies in (pair for shed in notes.shed for pair in shed.grades):
        found[grade] = replace(found.get(grade, Graded()), wanted=found.get(grade, Graded()).wanted + copies)
    for grade, copies, matches in (triple for tally in notes.tallies for triple in tally.graded):
        one = found.get(grade, Graded())
        found[grade] = Graded(one.wanted, one.matched + copies, one.matches + matches)
    return found


def worked(report: Report, notes: Notes) -> Work:
    """What a batch had to do: of its posts those that were looked at, and the copies that were matched."""
    looked_at = sum(shed.looked_at for shed in notes.shed) if notes.shed else report.posts
    is_routed = any(tally.stage == "route" for tally in notes.tallies)
    if is_routed or not notes.shed:
        copies = sum(tally.posts for tally in notes.tallies if tally.stage == "match")
    else:  # a matcher of the replicated layout counts the posts that it drops as well
        copies = sum(copies for tally in notes.tallies for _, copies, _ in tally.graded) or looked_at
    return Work(report.posts, looked_at, copies, report.matches)


def admitted(checkpoint: str | Path, first: int = FIRST) -> int:
    """How many posts a batch of the pipeline with that checkpoint may have, by what it has measured; else ``first``.

    It is a good bound for a source: ``posts_from_kafka(…, records_per_batch=2 * admitted("state"))``.
    """
    state = GovernorState.read(PipelineFolder(Path(checkpoint)).overload)
    return state.admitted or (state.pace.admitted if state.pace.is_measured else first)
