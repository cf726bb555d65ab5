"""What is kept so that a batch just fits into its time? What gives most matches for the work.

Goes beyond [S3TM] 5.2.2, where a level goes up and down by steps. Here the time that a batch may take is given, and the
costs of work are known (:mod:`tidings.shedding.costs`), so what fits is computed. There are two ways to save work. A
copy of a low grade can be left out: that saves matching it, and loses few matches. A post can be dropped, at best
before it is read: that saves looking at it too, and loses what any post loses. The mix that keeps most matches is
chosen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidings.shedding.costs import REMEMBERED, Costs, Timed, Work
from tidings.shedding.threshold import Floor

_KEPT = 0.7
"""What the past of a profile counts beside the last batch."""

_FORGOTTEN = 0.01
_ALL = Floor(-1, 1.0)

FEWEST_POSTS = 100
"""A batch may have so many, however slow they are."""

_FIXED = 1.5
LEAST = 0.01
"""So many of the posts are looked at, whatever it costs."""


@dataclass(frozen=True, slots=True)
class Graded:
    """Copies of one grade: how many there are that are ``wanted``, how many were ``matched``, the ``matches`` found."""

    wanted: float = 0.0
    matched: float = 0.0
    matches: float = 0.0

    def plus(self, other: Graded) -> Graded:
        """What is left of this, and all of the other."""
        return Graded(
            _KEPT * self.wanted + other.wanted,
            _KEPT * self.matched + other.matched,
            _KEPT * self.matches + other.matches,
        )

    @property
    def expected(self) -> float:
        """The matches of all copies that are wanted."""
        return self.wanted * self.matches / self.matched if self.matched else 0.0


@dataclass(frozen=True, slots=True)
class Profile:
    """What posts are like: so many ``copies`` and ``matches`` had those that were ``looked_at``; newer ones count more.

    ``grades``: the copies by grade, where these compete. They say which part of the copies and of the matches is kept.

    >>> profile = Profile().after(10, 30, 45, {8: Graded(20, 20, 5), 30: Graded(10, 10, 40)})
    >>> profile.work(100, Floor(8, 0.5))
    Work(posts=100, looked_at=100.0, copies=200.0, matches=425.0)
    """

    looked_at: float = 0.0
    copies: float = 0.0
    matches: float = 0.0
    grades: Mapping[int, Graded] = field(default_factory=dict)

    def after(self, looked_at: float, copies: float, matches: float, grades: Mapping[int, Graded]) -> Profile:
        """After a batch; where it sheds copies, ``copies`` and ``matches`` are those that it would have without."""
        if not looked_at:
            return self
        return Profile(
            _KEPT * self.looked_at + looked_at,
            _KEPT * self.copies + copies,
            _KEPT * self.matches + matches,
            self._graded(grades) if grades else self.grades,
        )

    def _graded(self, grades: Mapping[int, Graded]) -> dict[int, Graded]:
        nothing = Graded()
        both = sorted({*self.grades, *grades})
        merged = {grade: self.grades.get(grade, nothing).plus(grades.get(grade, nothing)) for grade in both}
        return {grade: one for grade, one in merged.items() if one.wanted > _FORGOTTEN}

    def work(self, posts: float, floor: Floor = _ALL, looked_at: float = 1.0) -> Work:
        """The work of so many posts, where a share of them is looked at and keeps what the floor says."""
        if not self.looked_at:
            return Work(posts, posts * looked_at, 0.0, 0.0)
        seen = posts * looked_at
        copies, matches = self._kept(floor)
        each = seen / self.looked_at
        return Work(posts, seen, each * self.copies * copies, each * self.matches * matches)

    def seen(self, posts: float, kept: Kept, spared: float) -> dict[int, Graded]:
        """What is told of the copies of so many posts like these, where that is kept: as in a simulation."""
        floor, share = kept.floor or _ALL, spared + (1 - spared) * kept.looked_at
        times = posts / self.looked_at if self.looked_at else 0.0
        told = {}
        for grade, one in self.grades.items():
            matched = times * one.wanted * (spared + (1 - spared) * kept.looked_at * floor.share(grade))
            each = one.matches / one.matched if one.matched else 0.0
            told[grade] = Graded(times * one.wanted * share, matched, matched * each)
        return told

    def _kept(self, floor: Floor) -> tuple[float, float]:
        """The parts of the copies and of the matches that a floor keeps."""
        wanted = sum(one.wanted for one in self.grades.values())
        expected = sum(one.expected for one in self.grades.values())
        if floor == _ALL or not wanted:
            return 1.0, 1.0
        copies = sum(one.wanted * floor.share(grade) for grade, one in self.grades.items())
        matches = sum(one.expected * floor.share(grade) for grade, one in self.grades.items())
        return copies / wanted, matches / expected if expected else copies / wanted


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept: of a share of ``looked_at`` posts the copies that the ``floor`` keeps; None keeps all."""

    looked_at: float
    floor: Floor | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """Chooses what is kept. ``spared``: of that share of posts nothing is left out, whatever is chosen."""

    costs: Costs
    profile: Profile
    spared: float = 0.0

    def work(self, posts: float, kept: Kept | None = None) -> Work:
        """The work of so many posts; None: all of it is kept."""
        everything = self.profile.work(posts)
        if kept is None:
            return everything
        some = self.profile.work(posts, kept.floor or _ALL, kept.looked_at)
        return some.mixed(everything, self.spared)

    def seconds(self, posts: float, kept: Kept | None = None) -> float:
        """How long a batch of so many posts takes."""
        return self.costs.seconds(self.work(posts, kept))

    def lost(self, kept: Kept) -> float:
        """The share of all matches that is lost."""
        everything, some = self.profile.work(1.0), self.profile.work(1.0, kept.floor or _ALL, kept.looked_at)
        share = some.matches / everything.matches if everything.matches else kept.looked_at
        return (1 - self.spared) * (1 - share)

    def chosen(self, posts: float, seconds: float, by_grade: bool = True) -> Kept | None:
        """What is kept of so many posts that may take that time; None if all of it fits.

        With ``by_grade`` copies of low grades are left out, if that keeps more matches than dropping posts does.
        A batch may take one and a half times its fixed time in any case: to shed all would not make it much shorter.
        """
        seconds = max(seconds, _FIXED * self.costs.fixed)
        if self.seconds(posts) <= seconds:
            return None
        grades = sorted(self.profile.grades) if by_grade else []
        ways = [self._fitting(posts, seconds, floor) for floor in (_ALL, *(Floor(grade, 0.0) for grade in grades[:-1]))]
        ways += [kept for grade in grades if (kept := self._between(posts, seconds, grade))]
        best = min(ways, key=self.lost)
        return Kept(best.looked_at, None) if best.floor == _ALL else best

    def _fitting(self, posts: float, seconds: float, floor: Floor) -> Kept:
        """With that floor, the share of posts that can be looked at."""
        none, whole = (self.seconds(posts, Kept(share, floor)) for share in (0.0, 1.0))
        share = (seconds - none) / (whole - none) if whole > none else 1.0
        return Kept(min(max(share, LEAST), 1.0), floor)

    def _between(self, posts: float, seconds: float, grade: int) -> Kept | None:
        """With all posts looked at, the part of a grade that can be kept; None, if it is none or all of it."""
        none, whole = (self.seconds(posts, Kept(1.0, Floor(grade, chance))) for chance in (0.0, 1.0))
        if not none < seconds < whole:
            return None
        return Kept(1.0, Floor(grade, (seconds - none) / (whole - none)))


@dataclass(frozen=True, slots=True)
class Memory:
    """What the batches before have taught: how long they took, and what posts are like.

    >>> memory = Memory()
    >>> for posts in (1000, 2000, 4000):
    ...     memory = memory.after(Timed(Work(posts, posts, 9 * posts, 3 * posts), 0.5 + posts / 4000))
    >>> kept = memory.kept(posts=8000, seconds=1.5)
    >>> 0.1 < kept.looked_at < 0.5
    True
    """

    batches: tuple[Timed, ...] = ()
    profile: Profile = field(default_factory=Profile)

    def after(self, batch: Timed, grades: Mapping[int, Graded] | None = None, is_usual: bool = True) -> Memory:
        """After a batch; the time of one that is not ``usual`` is no measure."""
        work = batch.work
        if grades:
            copies, matches = (
                sum(values) for values in zip(*((g.wanted, g.expected) for g in grades.values()), strict=True)
            )
        else:
            copies, matches = work.copies, work.matches
        batches = (*self.batches, batch)[-REMEMBERED:] if is_usual and work.posts else self.batches
        return Memory(batches, self.profile.after(work.looked_at, copies, matches, grades or {}))

    def capacity(self, spared: float = 0.0) -> Capacity | None:
        """None while too little is known."""
        costs = Costs.fit(self.batches)
        return None if costs is None else Capacity(costs, self.profile, spared)

    def kept(self, posts: float, seconds: float, by_grade: bool = True, spared: float = 0.0) -> Kept | None:
        """What is kept of a batch that may take that time; None for all of it, also while too little is known."""
        capacity = self.capacity(spared)
        return None if capacity is None else capacity.chosen(posts, seconds, by_grade)

    def admitted(self, seconds: float) -> int | None:
        """How many posts take that time if nothing is shed, and twice the fixed time at least; None if not known."""
        capacity = self.capacity()
        if capacity is None:
            return None
        fixed_s, each_s = capacity.seconds(0.0), capacity.seconds(1.0) - capacity.seconds(0.0)
        return max(FEWEST_POSTS, int(max(seconds - fixed_s, fixed_s) / each_s))


def allowed_s(delay_s: float, age_s: float, rest_s: float, excused_s: float = 0.0) -> float:
    """How long a batch may take, where a post may wait for ``delay_s``; infinity, if none has waited for long.

    ``age_s``: how long its oldest post has waited; ``rest_s``: the oldest that is left for the batch after it.
    ``excused_s``: so long something else was done meanwhile, which will not be done again.

    While it runs, the rest gets older. When it has ended, the next begins, and takes as long: so both together may take
    the delay. Where that cannot be reached at once, twice as many posts are handled as come.

    >>> allowed_s(10.0, age_s=4.0, rest_s=0.0), allowed_s(10.0, age_s=30.0, rest_s=28.0), allowed_s(10.0, 2.0, 0.0)
    (5.0, 1.0, inf)
    """
    if age_s - excused_s <= delay_s / 4:
        return math.inf
    return max(delay_s / 2 + excused_s - rest_s, (age_s - rest_s) / 2)
