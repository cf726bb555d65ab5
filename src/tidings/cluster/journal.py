"""Which version of the registry does a batch see, and how did it go? A journal beside the checkpoint remembers.

Before a batch runs, its *pin* is on disk: the version of the registry, the mapping, and the instant that counts as now.
Whoever runs that batch again, in another process after a crash, finds the pin and so the same subscriptions. After a
batch has run, its *report* is there too. Both are files of a line or two, so whoever wants to know how a pipeline is
doing, in any process, reads them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tidings.arrays.pages import checked, read_page, replace_json
from tidings.cluster.cut import Cut
from tidings.model import DataError
from tidings.model.values import read_instant

_PIN, _REPORT = ".pin.json", ".report.json"


@dataclass(frozen=True, slots=True)
class PastPin:
    """What is past for a batch whose posts are kept (:mod:`tidings.cluster.past`); instants are microseconds.

    New are the ``subscriptions`` with a ``since`` that came after the version ``after``. Past are the kept posts of
    earlier batches that came at ``oldest`` or later and happened in ``[since, until)``, which the new ones lie in.
    ``incomplete`` of them begin before ``whole_since``, and posts of then are not all kept.
    """

    after: int
    oldest: int
    subscriptions: int = 0
    incomplete: int = 0
    since: int = 0
    until: int = 0
    whole_since: int = 0


@dataclass(frozen=True, slots=True)
class Pin:
    """What a batch is run with: ``at`` is the instant of publications that have none.

    ``mapping`` is a name (:mod:`tidings.cluster.mappings`), empty where it is not told. ``cut`` is what is left undone
    in an overload; None: nothing. ``placement`` is the name of a :class:`tidings.placement.PlacementPolicy`. ``mark``
    is that of the version (:mod:`tidings.registry.history`), ``offsets`` a hash of which posts are in the batch; both
    are empty in pins from before there were any. ``past`` is None where posts are not kept.
    """

    batch: int
    version: int
    layout: str
    matchers: int
    at: datetime
    mapping: str = ""
    cut: Cut | None = None
    placement: str = "rarest"
    mark: str = ""
    offsets: str = ""
    past: PastPin | None = None


@dataclass(frozen=True, slots=True)
class MatcherReport:
    """How a batch went at one matcher. In the replicated layout, a matcher is a partition of the publications.

    ``copies_shed``: posts that it was spared in an overload; ``lost``: the matches that are missing for it, estimated.
    ``compared``: how many times an entry was compared, with one post or with several at once; ``found``: the
    matches with those that another matcher delivers.
    """

    matcher: int
    posts: int
    candidates: int
    matches: int
    ms: float
    copies_shed: int = 0
    lost: float = 0.0
    compared: int = 0
    found: int = 0


@dataclass(frozen=True, slots=True)
class PastReport:
    """How many new subscriptions have a past, and how many of these begin before ``whole_since`` (ISO 8601), when not
    all posts were kept; the kept posts that were looked at, and the matches, which the batch delivers with its own."""

    subscriptions: int
    incomplete: int
    whole_since: str
    posts: int
    matches: int


@dataclass(frozen=True, slots=True)
class Report:
    """How a batch went: posts in, of which some were rejected, matches out, and what each matcher did.

    ``ms`` is the time from its start until the sink had it all. A batch that was run again after a crash, and whose
    matches the sink had already, reports the same counts.

    ``level`` is how much was shed in an overload, 0 for nothing: ``posts_cut`` posts went to fewer matchers than they
    should, ``posts_dropped`` of them to none, ``copies_shed`` times a post was not sent to a matcher. ``lost`` is an
    estimate of the matches that are missing for it. ``past`` is None if no new subscription has one.
    """

    batch: int
    version: int
    posts: int
    rejected: int
    matches: int
    ms: float
    loads: tuple[MatcherReport, ...] = ()
    level: int = 0
    posts_cut: int = 0
    posts_dropped: int = 0
    copies_shed: int = 0
    lost: float = 0.0
    past: PastReport | None = None

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Journal:
    """The pins and reports of one pipeline, in the folder ``path``.

    >>> from tempfile import TemporaryDirectory
    >>> from tidings.model.values import utc_now
    >>> home = TemporaryDirectory()
    >>> journal = Journal(Path(home.name))
    >>> journal.put(Pin(7, 3, "replicated", 1, utc_now())).version, journal.pin(7).version
    (3, 3)
    >>> journal.running
    True
    >>> journal.close(Report(7, 3, posts=10, rejected=0, matches=2, ms=80.0))
    >>> journal.running, journal.report(7).matches
    (False, 2)
    >>> home.cleanup()
    """

    path: Path

    def put(self, pin: Pin) -> Pin:
        """Let a batch have this pin, in place of any other."""
        self.path.mkdir(parents=True, exist_ok=True)
        replace_json(self._file(pin.batch, _PIN), checked(asdict(pin) | {"at": pin.at.isoformat()}))
        return pin

    def close(self, report: Report) -> None:
        """Write down how a batch went."""
        replace_json(self._file(report.batch, _REPORT), report.record())

    def pin(self, batch: int) -> Pin | None:
        found = _read(self._file(batch, _PIN))
        if found is None:
            return None
        try:
            cut, past, at = found.get("cut"), found.get("past"), read_instant(found["at"])
            values = {"cut": None if cut is None else Cut(**cut), "past": None if past is None else PastPin(**past)}
            pin = Pin(**found | {"at": at} | values)
            whole, texts = (pin.batch, pin.version, pin.matchers), (pin.layout, pin.mapping, pin.mark, pin.offsets)
            if {*map(type, whole)} != {int} or {*map(type, texts)} != {str} or pin.batch != batch or at is None:
                raise ValueError("it has values that no pin has")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _unreadable(self._file(batch, _PIN), error) from None
        return pin

    def before(self, batch: int) -> Pin | None:
        """The pin of the last batch before this one that is remembered."""
        return self.pin(max((number for number in self.batches if number < batch), default=-1))

    def report(self, batch: int) -> Report | None:
        """None while a batch has not ended."""
        found = _read(self._file(batch, _REPORT))
        try:
            if found is None:
                return None
            loads, past = tuple(MatcherReport(**load) for load in found["loads"]), found.get("past")
            return Report(**found | {"loads": loads, "past": None if past is None else PastReport(**past)})
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(self._file(batch, _REPORT), error) from None

    @property
    def batches(self) -> list[int]:
        """The batches that are remembered, in order."""
        names = (file.name[: -len(_PIN)] for file in self.path.glob(f"*{_PIN}"))
        return sorted(int(name) for name in names if name.isdecimal())

    @property
    def running(self) -> bool:
        """Whether the newest batch has begun and not ended; also of one that died."""
        batches = self.batches
        return bool(batches) and not self._file(batches[-1], _REPORT).exists()

    def forget_before(self, batch: int) -> None:
        """Forget what is older; Spark never runs a batch again once the one after it has begun."""
        for old in [number for number in self.batches if number < batch]:
            self._file(old, _REPORT).unlink(missing_ok=True)
            self._file(old, _PIN).unlink(missing_ok=True)

    def _file(self, batch: int, kind: str) -> Path:
        return self.path / f"{batch:012}{kind}"


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found = read_page(file)
        if not found:
            raise ValueError("it has no fields")
        return found
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path, error: Exception) -> DataError:
    return DataError(
        f"{str(file)!r} is not a page of a journal: {error}; put it back, or begin with a new checkpoint folder"
    )
