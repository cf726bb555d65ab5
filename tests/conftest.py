"""What several folders of tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import examples

settings.register_profile("tidings", examples(100))
settings.load_profile("tidings")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with Spark is thorough, unless it is marked as quick; and so is one of what is not the product."""
    for item in items:
        is_beside = not {"benchmarks", "tools"}.isdisjoint(item.path.relative_to(item.config.rootpath).parts)
        if is_beside or (item.get_closest_marker("spark") and not item.get_closest_marker("quick")):
            item.add_marker("thorough")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the real data."""
    folder = os.environ.get("TIDINGS_DATA")
    if not folder:
        pytest.skip("set TIDINGS_DATA to the folder of the real data to run this test")
    return Path(folder)
