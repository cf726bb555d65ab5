"""A broker and a session for benchmarks that read from Kafka."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from benchmarks.feed import Stage, stage


@pytest.fixture(scope="module")
def kafka() -> Iterator[Stage]:
    if shutil.which("mvn") is None and not os.environ.get("CI"):
        pytest.skip("there is no mvn on PATH: a Kafka broker needs a JDK 17 and Maven")
    with stage() as found:
        yield found
