"""Is the public surface what it says it is?"""

from __future__ import annotations

import subprocess
import sys

from tidings import workloads


def test_all_names_are_there_and_sorted() -> None:
    assert workloads.__all__ == sorted(workloads.__all__)
    assert all(hasattr(workloads, name) for name in workloads.__all__)


def test_importing_needs_neither_tomotopy_nor_spark() -> None:
    code = "import sys, tidings.workloads; print(sorted({'tomotopy', 'pyspark', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
