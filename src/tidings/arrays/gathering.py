"""How do the texts of many numbers come to lie side by side? Sixteen bytes at a time.

Ids are short, and those of a post's matches lie far from each other. Arrow's ``take`` copies just the bytes of each; to
copy sixteen, whatever the length, and let the next text overwrite what is too much, takes half the time: nothing has to
be known of a text before the processor goes on to the next.
"""

# ruff: noqa: ARG001  (an intrinsic is told the types of its arguments)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tidings.arrays import IntArray
from tidings.arrays.growing import read_only
from tidings.arrays.strings import ByteArray

MOST_BYTES = 2**31 - 1
"""Texts with short offsets have so many bytes together at most."""

_AT_ONCE = 16
_USUAL_MOST = 256
"""At first room is made for texts that are no longer than this on average, however long those not asked for are."""


def gathered(
    offsets: IntArray, data: ByteArray, numbers: npt.NDArray[np.integer[Any]], kind: pa.DataType
) -> pa.StringArray | pa.LargeStringArray:
    """The texts ``data[offsets[n] : offsets[n + 1]]`` of these numbers, as ``string`` or ``large_string``.

    Like Arrow's ``take``, it refuses with ArrowInvalid what does not fit into a ``string``.

    >>> data = np.frombuffer(b"firesmoke", dtype=np.uint8)
    >>> gathered(np.array([0, 4, 9]), data, np.array([1, 0, 1], dtype=np.int32), pa.string()).to_pylist()
    ['smoke', 'fire', 'smoke']
    """
    offsets, data = read_only(offsets), read_only(data)
    usual = min(_USUAL_MOST, int(offsets[-1] - offsets[0]) // max(1, len(offsets) - 1))
    texts = np.empty(_AT_ONCE + len(numbers) * (usual + usual // 2), dtype=np.uint8)
    ends = np.empty(len(numbers) + 1, dtype=np.int32 if kind == pa.string() else np.int64)
    size = _gather(offsets, data, numbers, ends, texts)
    check_size(len(numbers), size, kind)
    if size + _AT_ONCE > len(texts):
        texts = np.empty(size + _AT_ONCE, dtype=np.uint8)
        _gather(offsets, data, numbers, ends, texts)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(ends), pa.py_buffer(texts[:size])])


def check_size(count: int, size_bytes: int, kind: pa.DataType) -> None:
    """Refuse so many texts of so many bytes together if they do not fit into an array of that kind."""
    if kind == pa.string() and size_bytes > MOST_BYTES:
        raise pa.ArrowInvalid(f"{count:,} texts of {size_bytes:,} bytes are too long for one array")


@intrinsic
def _copy(_, to, at):
    """Copy sixteen bytes from one address to another."""

    def generate(context, builder, _, addresses):
        several = ir.VectorType(ir.IntType(8), _AT_ONCE).as_pointer()
        target, source = (builder.inttoptr(address, several) for address in addresses)
        builder.store(builder.load(source, align=1), target, align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@numba.njit(cache=True, nogil=True)
def _gather(offsets, data, numbers, ends, texts):
    """Fill ``texts`` uint8 and ``ends`` with the offsets of the texts in it; returns the bytes of all of them.

    Where they and the sixteen to spare do not fit, what is in ``texts`` is not all, and it has to be called again.
    """
    source, target = data.ctypes.data, texts.ctypes.data
    readable, room = len(data) - _AT_ONCE, len(texts) - _AT_ONCE
    end = np.int64(0)
    ends[0] = 0
    for k in range(len(numbers)):
        number = np.uint64(numbers[np.uint64(k)])
        begin = np.int64(offsets[number])
        length = np.int64(offsets[number + np.uint64(1)]) - begin
        if end + length <= room:
            if length <= _AT_ONCE and begin <= readable:
                _copy(target + end, source + begin)
            elif length <= 2 * _AT_ONCE and begin + _AT_ONCE <= readable and end + _AT_ONCE <= room:
                _copy(target + end, source + begin)
                _copy(target + end + _AT_ONCE, source + begin + _AT_ONCE)
            else:
                texts[end : end + length] = data[begin : begin + length]
        end += length
        ends[np.uint64(k + 1)] = end
    return end
