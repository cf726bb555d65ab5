"""What does a pipeline do when more posts come than it can match? It lets them wait, or it leaves some work undone.

With ``overload="block"`` nothing is ever lost, and posts wait. With ``"shed"``, or an :class:`Overload` of one's own,
a :class:`Governor` looks before each batch how long the oldest post has waited (:mod:`tidings.spark.backlog`), lets the
controller of [S3TM] 5.2.2 go a level up or down, and pins the :class:`tidings.spark.cut.Cut` of that level with the
batch. All that it remembers is a file, so it goes on after a restart, in whatever process.

How many posts a batch may have is the source's to say: Spark takes ``maxOffsetsPerTrigger`` when a query starts and
never again, and to cut a batch that is there already into several would read it several times and give it several
names in every sink. So the admission that the governor learns is written down too. ``tidings_posts`` asks for it before
each batch; for any other source :func:`admitted` is the bound to start it with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from tidings.index.store import replace_json
from tidings.model import DataError
from tidings.shedding import POLICIES, Controller, Levels
from tidings.shedding.controller import Last
from tidings.shedding.pace import FIRST, Pace
from tidings.spark.backlog import Backlog
from tidings.spark.cut import Cut
from tidings.spark.home import Home
from tidings.spark.journal import Report
from tidings.spark.notes import Notes

_BATCHES = 4
"""So many batches fit into the delay that is tolerated: then a level has shown what it does before it is too late."""

_IDLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Overload:
    """How a pipeline sheds: work is left undone when a post has waited for more than ``delay_s``, no more than needed.

    The time between two batches, if one was asked for, does not count as waiting, nor does that of the batch before, up
    to a quarter of ``delay_s``. ``policy`` says what is left undone, ``first_limit``, ``delta`` and ``top`` how much at
    each level (:class:`tidings.shedding.Levels`). Of a share of ``spared`` posts nothing is left out, and what they
    find says how much the others lose.

    >>> Overload(delay_s=2.0).levels.limit(1)
    7.0
    """

    policy: Literal["threshold", "subscription", "consensus", "random"] = "threshold"
    delay_s: float = 5.0
    first_limit: float = 7.0
    delta: float = 6 / 7
    top: int = 11
    spared: float = 0.02

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise DataError(f"there is no shedding policy {self.policy!r}; choose one of {', '.join(POLICIES)}")
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
class State:
    """What a governor remembers, all times in seconds since 1970.

    ``last``: that of the controller; ``pace``: how many posts are admitted; ``ended_s`` and ``busy_s``: of the last
    batch; ``grades``: how many copies of it, or posts where a post is one copy, had each grade.
    """

    level: int = 0
    last: Last | None = None
    pace: Pace = field(default_factory=Pace)
    ended_s: float = 0.0
    busy_s: float = 0.0
    grades: dict[int, int] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> State:
        """That of a file; a new one if there is none, or no such one."""
        try:
            found = json.loads(file.read_text())
            grades = {int(grade): int(posts) for grade, posts in found["grades"].items()}
            pace = Pace(**found["pace"] | {"sums": tuple(found["pace"]["sums"])})
            last = None
            if found["last"] is not None:
                decided_s, fullness, at_step = found["last"]
                last = decided_s, fullness, at_step
            return cls(**found | {"grades": grades, "pace": pace, "last": last})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()


@dataclass(frozen=True, slots=True)
class Governor:
    """Decides how much of each batch is left undone. ``every_s``: the time between two batches that was asked for."""

    home: Home
    overload: Overload
    every_s: float = 0.0
    clock: Callable[[], float] = time.time

    def cut(self, batch: int, layout: str) -> Cut | None:
        """For a batch that is about to be pinned; None if all of it is done."""
        state, now_s, levels = State.read(self.home.overload), self.clock(), self.overload.levels
        idle_s = max(
            0.0, now_s - state.ended_s - self.every_s
        )  # in each period of which the level would have gone down
        before = state.level - int(idle_s / levels.period_s) if idle_s > _IDLE_S else state.level
        controller = Controller(levels, max(before, 0), state.last)
        level = controller.step(self.fullness(batch, state, now_s), now_s)
        replace_json(self.home.overload, asdict(replace(state, level=level, last=controller.last)))
        if not level:
            return None
        return Cut.of(level, levels, self.overload.policy, self.overload.spared).at(state.grades, layout)

    def fullness(self, batch: int, state: State, now_s: float) -> float:
        """How long the oldest post has waited that is not in an earlier batch, where the tolerated delay is 1."""
        backlog = Backlog.read(self.home.backlog)
        done = None if backlog is None else self._posts(range(backlog.batch + 1, batch))
        is_idle = now_s - state.ended_s > self.every_s + _IDLE_S  # nothing waited when the last batch had ended
        if backlog is None or done is None:  # then what came during the last batch has waited for it
            age_s = 0.0 if is_idle else state.busy_s
        elif is_idle and backlog.end + done >= backlog.latest:
            age_s = 0.0
        else:
            age_s = backlog.age_s(backlog.end + done, now_s)
        usual_s = self.every_s + min(state.busy_s, self.overload.batch_s)  # so long a post waits for the batch before
        return max(0.0, age_s - usual_s) / self.overload.delay_s

    def _posts(self, batches: range) -> int | None:
        """How many posts some batches had; None if that is not known of all."""
        reports = [self.home.journal.report(number) for number in batches]
        return None if None in reports else sum(report.posts for report in reports if report)

    def learn(self, report: Report, notes: Notes, is_usual: bool) -> None:
        """After a batch; one that is not ``usual``, such as the first of a process, tells nothing of the speed."""
        state, seconds = State.read(self.home.overload), report.ms / 1e3
        batch_s = max(self.overload.batch_s, self.every_s)
        grades: dict[int, int] = {}
        for grade, posts in (pair for shed in notes.shed for pair in shed.grades):
            grades[grade] = grades.get(grade, 0) + posts
        newer = replace(
            state,
            pace=state.pace.after(report.posts, seconds, batch_s, report.level) if is_usual else state.pace,
            ended_s=self.clock(),
            busy_s=seconds,
            grades=grades or state.grades,
        )
        replace_json(self.home.overload, asdict(newer))


def admitted(checkpoint: str | Path, first: int = FIRST) -> int:
    """How many posts a batch of the pipeline with that checkpoint may have, by what it has measured; else ``first``.

    It is a good bound for a source: ``posts_from_kafka(…, records_per_batch=admitted("state"))``.
    """
    pace = State.read(Home(Path(checkpoint)).overload).pace
    return pace.admitted if pace.is_measured else first
