"""Who should give what to whom, and when? Policies over counters: pure functions from loads and a mapping to moves."""

from tidings.balancing.adjusting import Adjuster, batch_loads
from tidings.balancing.detecting import UNEVEN, Detector, Detects
from tidings.balancing.estimate import Estimate, Formula
from tidings.balancing.globally import Global
from tidings.balancing.loads import Churn, Loads, Standing, Touches, WorkDone
from tidings.balancing.local import Balancer, Local
from tidings.balancing.migration import SELECTORS, Select, SelectorName

__all__ = [
    "SELECTORS",
    "UNEVEN",
    "Adjuster",
    "Balancer",
    "Churn",
    "Detector",
    "Detects",
    "Estimate",
    "Formula",
    "Global",
    "Loads",
    "Local",
    "Select",
    "SelectorName",
    "Standing",
    "Touches",
    "WorkDone",
    "batch_loads",
]
