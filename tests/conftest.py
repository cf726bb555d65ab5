"""What several folders of tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("tidings", deadline=None)  # how fast something is, is for benchmarks
settings.load_profile("tidings")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with Spark is thorough, unless it is marked as quick."""
    for item in items:
        if item.get_closest_marker("spark") and not item.get_closest_marker("quick"):
            item.add_marker("thorough")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the real data."""
    folder = os.environ.get("TIDINGS_DATA")
    if not folder:
        pytest.skip("set TIDINGS_DATA to the folder of the real data to run this test")
    return Path(folder)
