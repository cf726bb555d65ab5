"""Which numbers steer the load balancer? Those of [PADRES] Table III, by the paper's names and with its defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tidings.model import DataError


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of [PADRES] Table III; durations are in seconds.

    >>> Parameters().press_samples, Parameters(press_samples=100).press_samples
    (50, 100)
    """

    local_pie_publishing_period_s: float = 30.0
    global_pie_publishing_period_s: float = 60.0
    pie_ratio_threshold: float = 0.025
    pie_delay_threshold: float = 0.025
    adaptive_pie_history: int = 10
    lower_overload_threshold: float = 0.9
    higher_overload_threshold: float = 0.95
    local_ratio_triggering_threshold: float = 0.1
    local_delay_triggering_threshold: float = 0.1
    global_ratio_triggering_threshold: float = 0.15
    global_delay_triggering_threshold: float = 0.15
    delay_normalization_factor_s: float = 0.1
    stabilize_duration_s: float = 30.0
    stabilize_percentage: float = 0.05
    local_detection_minimum_interval_s: float = 20.0
    local_detection_maximum_interval_s: float = 40.0
    global_detection_minimum_interval_s: float = 50.0
    global_detection_maximum_interval_s: float = 70.0
    global_load_balancing_request_limit: int = 3
    migration_timeout_s: float = 5.0
    press_samples: int = 50
    press_timeout_s: float = 30.0
    balance_threshold: float = 0.005

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 0 or (value == 0 and field.name != "balance_threshold"):
                raise DataError(f"{field.name} is greater than 0, got {value}")
        self._ordered("lower_overload_threshold", "higher_overload_threshold")
        self._ordered("local_detection_minimum_interval_s", "local_detection_maximum_interval_s")
        self._ordered("global_detection_minimum_interval_s", "global_detection_maximum_interval_s")

    def _ordered(self, low: str, high: str) -> None:
        if getattr(self, low) > getattr(self, high):
            raise DataError(f"{low} is at most {high}, got {getattr(self, low)} and {getattr(self, high)}")
