"""Does matching work over Spark Connect, and on executors that are processes of their own?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["connect", "cluster"])
def test_matches_elsewhere_equal_brute_force(kind: str) -> None:
    if kind == "connect":
        pytest.importorskip("grpc", reason="Spark Connect needs the extra pyspark[connect]")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    result = subprocess.run(
        [sys.executable, "-m", "tests.spark.elsewhere", kind],
        env=os.environ | {"PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert result.returncode == 0 and result.stdout.endswith("equal\n"), result.stderr[-5000:]
