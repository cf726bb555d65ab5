"""Hashes of bytes, compiled by numba. With seeds that nobody knows, nobody can choose texts that meet in one slot."""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False
# ruff: noqa: ARG001  (an intrinsic is told the types of its arguments)

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_FNV_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@numba.njit(cache=True, nogil=True)
def fnv1a(data, start, end):
    """FNV-1a over the bytes: the same in every process, so for names, not for tables. See :func:`seeded_hash`."""
    value = _FNV_START
    for i in range(start, end):
        value = (value ^ np.uint64(data[i])) * _FNV_PRIME
    return value


@numba.njit(cache=True, nogil=True, inline="always")
def eight_bytes(data, i):
    """The eight bytes from i on, the first one lowest: compiled to a single load."""
    i = np.uint64(i)
    low = np.uint64(data[i]) | np.uint64(data[i + np.uint64(1)]) << np.uint64(8)
    low |= np.uint64(data[i + np.uint64(2)]) << np.uint64(16) | np.uint64(data[i + np.uint64(3)]) << np.uint64(24)
    low |= np.uint64(data[i + np.uint64(4)]) << np.uint64(32) | np.uint64(data[i + np.uint64(5)]) << np.uint64(40)
    return low | np.uint64(data[i + np.uint64(6)]) << np.uint64(48) | np.uint64(data[i + np.uint64(7)]) << np.uint64(56)


@numba.njit(cache=True, nogil=True)
def few_bytes(data, i, end):
    """The same of those before ``end``, and zeros."""
    value = np.uint64(0)
    for j in range(min(end - i, 8)):
        value |= np.uint64(data[i + j]) << np.uint64(8 * j)
    return value


@intrinsic
def mixed(_, a, b):
    """The upper half of the product of two uint64, and the lower one, combined by exclusive or.

    With seeds in ``a`` and ``b`` this is the step of wyhash: who does not know them cannot make numbers that collide.
    """

    def generate(context, builder, signature, values):
        long = ir.IntType(128)
        product = builder.mul(*(builder.zext(value, long) for value in values))
        upper = builder.trunc(builder.lshr(product, long(64)), values[0].type)
        return builder.xor(upper, builder.trunc(product, values[0].type))

    return types.uint64(types.uint64, types.uint64), generate


@numba.njit(cache=True, nogil=True)
def seeded_hash(data, begin, end, seed, other_seed):
    """A number that depends on all bytes, their order, and two seeds (uint64)."""
    value = seed ^ np.uint64(end - begin)
    for i in range(begin, end - 7, 8):
        value = mixed(value ^ eight_bytes(data, i), other_seed)
    rest = few_bytes(data, end - (end - begin) % 8, end)
    return mixed(value ^ rest, other_seed ^ seed)


@numba.njit(cache=True, nogil=True)
def spread_hash(data, begin, end, seed, other_seed):
    """The same, mixed once more. Of texts that differ in few bytes the lower bits of the other are uneven with some
    seeds; but its values are in files, so it cannot change."""
    return mixed(seeded_hash(data, begin, end, seed, other_seed), _GOLDEN)
