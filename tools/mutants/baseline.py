"""Which tests run which line, and how long do they take? A plugin of pytest that asks coverage.py, test by test.

``python -m coverage run -m pytest -p tools.mutants.baseline`` writes the seconds of each test that passes to the file
``TIDINGS_DURATIONS``, and property tests stop after some examples: which lines they run is known by then. A test with
parameters counts as one. What is compiled by numba is seen by no tracer.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest
from hypothesis import Phase, settings

PROFILE = "mutants"
"""The same examples each time, none from earlier failures, and no time spent on making them small."""

settings.register_profile(
    PROFILE, deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
)
_EXAMPLES = 10
_FILE = os.environ.get("TIDINGS_DURATIONS")
_seconds = Counter[str]()
_failed: set[str] = set()


def name_of(test: str) -> str:
    """The id of a test without its parameters."""
    return test.partition("[")[0]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    tracer = coverage.Coverage.current()
    if tracer is not None:
        tracer.switch_context(name_of(item.nodeid))
    yield
    if tracer is not None:
        tracer.switch_context("")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items if _FILE else ():
        test = getattr(item, "obj", None)
        if own := getattr(test, "_hypothesis_internal_use_settings", None):
            fewer = settings(own, max_examples=min(own.max_examples, _EXAMPLES))
            test._hypothesis_internal_use_settings = fewer  # type: ignore[union-attr]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = name_of(report.nodeid)
    _seconds[name] += report.duration  # type: ignore[assignment]  # a float
    if report.failed:
        _failed.add(name)


def pytest_sessionfinish() -> None:
    if _FILE:
        Path(_FILE).write_text(json.dumps({name: s for name, s in _seconds.items() if name not in _failed}))
