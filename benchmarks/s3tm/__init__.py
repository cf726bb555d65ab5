"""Does the evaluation of [S3TM], section 6, come out alike on other posts? Each figure is a function of who asks."""

from benchmarks.s3tm.corpus import Asking, Corpus
from benchmarks.s3tm.drawing import draw
from benchmarks.s3tm.figures import FIGURES
from benchmarks.s3tm.trials import Plan

__all__ = ["FIGURES", "Asking", "Corpus", "Plan", "draw"]
