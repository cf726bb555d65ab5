"""What does shedding cost, and does the level find its place? Figures 26 and 27 of [S3TM], simulated and on Spark."""

from tidings.bench.shedding.accuracy import Plan, by_limit
from tidings.bench.shedding.drawing import draw
from tidings.bench.shedding.posts import by_fraction
from tidings.bench.shedding.setting import Setting
from tidings.bench.shedding.spike import Spike, spikes

__all__ = ["Plan", "Setting", "Spike", "by_fraction", "by_limit", "draw", "spikes"]
