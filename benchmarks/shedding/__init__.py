"""What does shedding cost, and does the level find its place? Figures 26 and 27 of [S3TM], simulated and on Spark."""

from benchmarks.shedding.accuracy import Plan, by_limit
from benchmarks.shedding.drawing import draw
from benchmarks.shedding.posts import by_fraction
from benchmarks.shedding.setting import Setting
from benchmarks.shedding.spike import Spike, spikes

__all__ = ["Plan", "Setting", "Spike", "by_fraction", "by_limit", "draw", "spikes"]
