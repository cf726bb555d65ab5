"""Is it known whether kernels were compiled before, for this Python and processor?"""

from __future__ import annotations

import importlib.util
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from tidings.cli.output import tell_compiling
from tidings.engine import Engine
from tidings.engine import engine as engine_module
from tidings.index import compiling
from tidings.index.compiling import NOTICE, is_cold

KERNEL = """
import numba

@numba.njit(cache=True)
def doubled(n):
    return 2 * n
"""


def loaded(source: Path) -> Any:
    """The kernel of a module, as a process that has just started has it."""
    spec = importlib.util.spec_from_file_location(source.stem, source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.doubled


def test_a_kernel_is_cold_until_it_was_compiled_for_this_source_and_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "some_kernels.py"
    source.write_text(KERNEL)
    kernel = loaded(source)
    assert is_cold((kernel,))
    assert kernel(3) == 6 and not is_cold((kernel,))
    again = loaded(source)
    assert not again.signatures and not is_cold((again,))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(compiling, "get_host_cpu_name", lambda: "another-processor")
        assert is_cold((again,))
    (index,) = tmp_path.rglob("*.nbi")
    os.utime(source, (index.stat().st_mtime + 10,) * 2)
    assert is_cold((again,))


def test_functions_without_the_jit_compiler_are_never_cold() -> None:
    assert not is_cold((len, max))


@pytest.mark.parametrize("cold", [True, False])
def test_a_first_run_says_that_kernels_are_compiled(
    cold: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(engine_module, "is_cold", lambda: cold)
    monkeypatch.setattr(compiling, "is_cold", lambda: cold)
    Engine()
    assert not caplog.messages
    caplog.set_level(logging.INFO)
    Engine()
    assert caplog.messages == [NOTICE] * cold
    tell_compiling()
    assert capsys.readouterr() == ("", "")  # stderr is no terminal
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes rich take stderr for one
    tell_compiling()
    assert capsys.readouterr() == ("", f"{NOTICE}\n" * cold)
