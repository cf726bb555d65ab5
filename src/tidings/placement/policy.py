"""How are subscriptions placed? By a policy, which has a name that pins and releases carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tidings.model import DataError
from tidings.placement.cost import Line
from tidings.placement.lasp import Lasp
from tidings.placement.placers import RAREST, Anycast, Placer

PlacerName = Literal["rarest", "random", "lasp"]


@dataclass(frozen=True, slots=True)
class PlacementPolicy:
    """``rarest`` files a subscription under its rarest term, as an index would, and posts are sent for rare terms only.

    ``random`` and ``lasp`` are those of [S3TM] 4: at any matcher that owns one of its words, drawn by its id and
    ``seed``; or where it costs least, by the line ``slope`` · words + ``intercept`` (:class:`tidings.placement.Lasp`).

    >>> PlacementPolicy("lasp").name, PlacementPolicy.named("random-3")
    ('lasp-1.0,200.0', PlacementPolicy(placer='random', seed=3, slope=1.0, intercept=200.0))
    """

    placer: PlacerName = "rarest"
    seed: int = 0
    slope: float = 1.0
    intercept: float = 200.0

    def __post_init__(self) -> None:
        if self.placer not in get_args(PlacerName):
            known = ", ".join(get_args(PlacerName))
            raise DataError(f"a placer is one of {known}, got {self.placer!r}; choose one of them")
        if self.seed < 0:
            raise DataError(f"a seed is 0 or more, got {self.seed}; choose another")
        Line(self.slope, self.intercept)  # refuses what is no cost

    @classmethod
    def of(cls, given: PlacementPolicy | str) -> PlacementPolicy:
        """The policy itself, or that of a placer's name."""
        return given if isinstance(given, PlacementPolicy) else cls(given)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """All that decides where a subscription is placed."""
        settings = {"random": f"-{self.seed}", "lasp": f"-{float(self.slope)},{float(self.intercept)}"}
        return self.placer + settings.get(self.placer, "")

    @classmethod
    def named(cls, name: str) -> PlacementPolicy:
        """The policy of such a name."""
        placer, _, settings = name.partition("-")
        try:
            match placer:
                case "random":
                    return cls("random", seed=int(settings))
                case "lasp":
                    slope, intercept = map(float, settings.split(","))
                    return cls("lasp", slope=slope, intercept=intercept)
                case "rarest" if not settings:
                    return cls()
        except ValueError:
            pass
        raise DataError(
            f"{name!r} names no placement; it is rarest, random-SEED or lasp-SLOPE,INTERCEPT, so whoever wrote it is "
            "another tidings: use that one, or begin with a new checkpoint"
        )

    def made(self, matchers: int) -> Placer:
        """The placer for so many matchers."""
        if self.placer == "lasp":
            return Lasp(matchers, Line(self.slope, self.intercept))
        return Anycast(self.seed) if self.placer == "random" else RAREST
