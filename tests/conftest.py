"""What several folders of tests need."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import examples

settings.register_profile("tidings", examples(100))
settings.load_profile("tidings")

_THOROUGH = {"benchmarks", "spark", "tools"}


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with Spark, or of what is beside the product, is thorough, unless it is marked as quick."""
    for item in items:
        folders = item.path.relative_to(item.config.rootpath).parts
        is_thorough = item.get_closest_marker("spark") or not _THOROUGH.isdisjoint(folders)
        if is_thorough and not item.get_closest_marker("quick"):
            item.add_marker("thorough")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Tests have no examples in docstrings: those are looked for in the product alone, which takes seconds less."""
    found = yield
    return [collector for collector in found if type(collector) is pytest.Module]


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the real data."""
    folder = os.environ.get("TIDINGS_DATA")
    if not folder:
        pytest.skip("set TIDINGS_DATA to the folder of the real data to run this test")
    return Path(folder)
