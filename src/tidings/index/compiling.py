"""Will the first match have to wait for the JIT compiler?

numba keeps the machine code of kernels in files, for each version of Python and each kind of processor. Where there is
none yet, the first match takes some 15 seconds, once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llvmlite.binding import get_host_cpu_name

from tidings.index.kernels import match_chained, match_side_by_side
from tidings.index.single.kernels import match_one

NOTICE = "compiling kernels, once: about 15 s"

_HOT = (match_one, match_chained, match_side_by_side)
"""Whoever has matched something has compiled one of these."""


def is_cold(kernels: tuple[Any, ...] = _HOT) -> bool:
    """Whether none of these kernels was compiled before, in this process or for this Python and processor.

    numba names its files ``MODULE.FUNCTION-LINE.pyXY.nbi``, and each names the processors that it has code for.
    Cost: about 0.2 ms.
    """
    if not all(hasattr(kernel, "signatures") for kernel in kernels) or any(kernel.signatures for kernel in kernels):
        return False  # without the JIT compiler they are plain functions
    processor = (os.environ.get("NUMBA_CPU_NAME") or get_host_cpu_name()).encode()
    return not any(processor in file.read_bytes() for kernel in kernels for file in _cached(kernel))


def _cached(kernel: Any) -> Iterator[Path]:
    """The index files of a kernel that are newer than its source."""
    code = kernel.py_func.__code__
    pattern = f"*.{code.co_name}-{code.co_firstlineno}.py{sys.version_info[0]}{sys.version_info[1]}*.nbi"
    folder = kernel.stats.cache_path
    for file in Path(folder).glob(pattern) if folder else ():
        if file.stat().st_mtime >= Path(code.co_filename).stat().st_mtime:
            yield file
