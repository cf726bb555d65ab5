"""The example of docs/brokers.md is run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broker.overlays import free_ports

PAGE = (Path(__file__).parents[2] / "docs" / "brokers.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_example_of_the_page_prints_what_the_page_says() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    code, printed = found.groups()
    for number, port in enumerate(free_ports(2)):
        code = code.replace(f"127.0.0.1:700{number}", f"127.0.0.1:{port}")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout == printed, result.stderr
