"""The inner loops of the fast analyser: arrays in, arrays out, compiled by numba.

Symbols: ``data`` the UTF-8 bytes of a column. ``edges`` int64[chunks, 2]: where each chunk begins and ends, found by
:mod:`tidings.analysis.cutting.kernels`. ``slots`` uint64[2^n, 3] is a hash table with open addressing. A chunk is one
row of it, so that to find it touches one line of the cache:

- A chunk of up to 16 bytes: these bytes, the first one lowest, then zeros. No chunk has a zero byte, so equal numbers
  are equal chunks. The first number of a free slot is 0.
- A longer one: 256 times the place of its bytes in ``arena``, which is not 0, and a hash of them. Where the hash is
  equal, the bytes are compared.
- The third number: what the chunk means in the lower half, its length in the upper one. A chunk of one word means the
  id of the word, or -1 for a stop word; any other means -2 - p, and its ``groups[p]`` words follow in ``groups``.

``arena`` begins with two random numbers, the seeds of the hash: nobody who writes posts can choose chunks that meet in
the same slots.

Cutting and looking up are separate loops on purpose: a look-up waits for memory, and only a loop without the
unpredictable branches of cutting lets the processor wait for many at once.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False
# ruff: noqa: PLR0913, PLR0917  (an intrinsic is told the types of its arguments; kernels take arrays)

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from tidings.analysis.cutting.kernels import cut
from tidings.arrays.kernels import eight_bytes, few_bytes, mixed, seeded_hash

_FREE, _BYTE, _LOW = np.uint64(0), np.uint64(0xFF), np.uint64(0xFFFFFFFF)
_NEW_LINE = 10
SEED_BYTES = 16
SHORT_BYTES = 16
_AT_A_TIME = 64
_KEPT = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(SHORT_BYTES + 1)], dtype=np.uint64)
"""Which bits of eight bytes belong to a chunk of n bytes that begins there."""


@numba.njit(cache=True, nogil=True, inline="always")
def _home(first, second, seed, other_seed, mask):
    """The slot where a chunk of this key is looked for first; of a long one, ``first`` is 0 here."""
    return mixed(first ^ seed, second ^ other_seed) & mask


@numba.njit(cache=True, nogil=True)
def _is_there(data, begin, end, arena, at):
    """Whether the arena has these bytes at that place."""
    for i in range(begin, end):  # noqa: SIM110  (compiled)
        if data[i] != arena[at + i - begin]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _long_slot(data, begin, end, slots, arena):
    """The slot of a long chunk, or a free one, and its hash."""
    seed, other_seed = eight_bytes(arena, 0), eight_bytes(arena, 8)
    value = seeded_hash(data, begin, end, seed, other_seed)
    mask = np.uint64(len(slots) - 1)
    slot = _home(_FREE, value, seed, other_seed, mask)
    while slots[slot, 0] != _FREE:
        if slots[slot, 0] & _BYTE == 0 and slots[slot, 1] == value:
            at, length = np.int64(slots[slot, 0] >> np.uint64(8)), np.int64(slots[slot, 2] >> np.uint64(32))
            if length == end - begin and _is_there(data, begin, end, arena, at):
                break
        slot = (slot + np.uint64(1)) & mask
    return slot, value


@intrinsic
def _fetch(_, slots, slot):
    """Let the processor fetch a slot while it goes on."""

    def generate(context, builder, signature, values):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        start = make_array(signature.args[0])(context, builder, values[0]).data
        row = builder.gep(start, [builder.mul(values[1], values[1].type(3))])
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [builder.bitcast(row, byte), word(0), word(3), word(1)])  # to read, and to keep
        return context.get_dummy_value()

    return types.void(slots, slot), generate


@numba.njit(cache=True, nogil=True)
def look_up(data, edges, slots, arena, meanings, unknown):
    """What each chunk means: fills ``meanings`` int32[chunks]; how many are not in the table, and ``unknown`` which.

    Some chunks at a time: their slots are computed and on their way before the first is looked at. What usual chunks
    need is written out: to call a function with an array counts a reference, which takes longer than to find a chunk.
    """
    mask = np.uint64(len(slots) - 1)
    seed, other_seed = eight_bytes(arena, 0), eight_bytes(arena, 8)
    keys = np.empty((_AT_A_TIME, 3), dtype=np.uint64)
    found = 0
    for start in range(0, len(edges), _AT_A_TIME):
        stop = min(len(edges), start + _AT_A_TIME)
        for k in range(start, stop):
            begin, end = edges[np.uint64(k), 0], edges[np.uint64(k), 1]
            if end - begin > SHORT_BYTES:
                slot, _ = _long_slot(data, begin, end, slots, arena)
                first, second = slots[slot, 0], slots[slot, 1]
            else:
                if begin + SHORT_BYTES <= len(data):
                    first = eight_bytes(data, begin) & _KEPT[np.uint64(end - begin)]
                    second = eight_bytes(data, begin + 8) & _KEPT[np.uint64(max(end - begin, 8) - 8)]
                else:
                    first, second = few_bytes(data, begin, end), few_bytes(data, begin + 8, end)
                slot = _home(first, second, seed, other_seed, mask)
                _fetch(slots, slot)
            own = np.uint64(k - start)
            keys[own, 0], keys[own, 1], keys[own, 2] = first, second, slot
        for k in range(start, stop):
            own = np.uint64(k - start)
            first, second, slot = keys[own, 0], keys[own, 1], keys[own, 2]
            while slots[slot, 0] != _FREE and (slots[slot, 0] != first or slots[slot, 1] != second):
                slot = (slot + np.uint64(1)) & mask
            meanings[np.uint64(k)] = np.int32(slots[slot, 2] & _LOW)
            unknown[np.uint64(found)] = k
            found += slots[slot, 0] == _FREE
    return found


@numba.njit(cache=True, nogil=True)
def _short_slot(first, second, slots, arena):
    """The slot of a chunk of up to 16 bytes, or a free one."""
    mask = np.uint64(len(slots) - 1)
    slot = _home(first, second, eight_bytes(arena, 0), eight_bytes(arena, 8), mask)
    while slots[slot, 0] != _FREE and (slots[slot, 0] != first or slots[slot, 1] != second):
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True)
def reserve(data, edges, slots, arena, used, lines):
    """Give slots to chunks that are not in the table, each once, and write them to ``lines`` uint8, a line feed behind
    each. Returns how many they are, their bytes in ``lines``, and how many of the arena are used after ``used`` before;
    there is room for all. What they mean is told by :func:`put`."""
    added = out = 0
    for k in range(len(edges)):
        begin, end = edges[k, 0], edges[k, 1]
        if end - begin > SHORT_BYTES:
            slot, second = _long_slot(data, begin, end, slots, arena)
            first = np.uint64(used) << np.uint64(8)
        else:
            first, second = few_bytes(data, begin, end), few_bytes(data, begin + 8, end)
            slot = _short_slot(first, second, slots, arena)
        if slots[slot, 0] == _FREE:
            slots[slot, 0], slots[slot, 1] = first, second
            slots[slot, 2] = np.uint64(end - begin) << np.uint64(32)
            added += 1
            for i in range(begin, end):
                lines[out] = data[i]
                out += 1
            lines[out] = _NEW_LINE
            out += 1
            if end - begin > SHORT_BYTES:
                for i in range(begin, end):
                    arena[used] = data[i]
                    used += 1
    return added, out, used


@numba.njit(cache=True)
def put(lines, meanings, slots, arena):
    """Let chunks that have slots, as :func:`reserve` writes them, mean ``meanings`` int32."""
    begin = 0
    for k in range(len(meanings)):
        end = begin
        while lines[end] != _NEW_LINE:
            end += 1
        if end - begin > SHORT_BYTES:
            slot, _ = _long_slot(lines, begin, end, slots, arena)
        else:
            slot = _short_slot(few_bytes(lines, begin, end), few_bytes(lines, begin + 8, end), slots, arena)
        slots[slot, 2] = slots[slot, 2] & ~_LOW | np.uint64(meanings[k]) & _LOW
        begin = end + 1


@numba.njit(cache=True, nogil=True)
def refill(slots, old, arena):
    """File what is in ``old`` in a larger table that is empty (all 0)."""
    mask = np.uint64(len(slots) - 1)
    seed, other_seed = eight_bytes(arena, 0), eight_bytes(arena, 8)
    for k in range(len(old)):
        first, second = old[k, 0], old[k, 1]
        if first != _FREE:
            slot = _home(first if first & _BYTE else _FREE, second, seed, other_seed, mask)
            while slots[slot, 0] != _FREE:
                slot = (slot + np.uint64(1)) & mask
            slots[slot, 0], slots[slot, 1], slots[slot, 2] = first, second, old[k, 2]


@numba.njit(cache=True, nogil=True)
def sequences(meanings, chunk_offsets, groups, ids, offsets):
    """From chunks to the words of each row at their places: fills ``ids`` and ``offsets``."""
    out = 0
    for row in range(len(chunk_offsets) - 1):
        for k in range(chunk_offsets[row], chunk_offsets[row + 1]):
            if meanings[k] >= -1:
                ids[out] = meanings[k]
                out += 1
                continue
            place = -2 - meanings[k]
            for w in range(place + 1, place + 1 + groups[place]):
                ids[out] = groups[w]
                out += 1
        offsets[row + 1] = out


@numba.njit(cache=True, nogil=True)
def term_sets(meanings, chunk_offsets, groups, stamps, mark, ids, offsets):
    """From chunks to sets of terms: each word of each row once, stop words left out.

    ``stamps`` int64[more than words] is scratch, the first one for stop words: row r uses the mark ``mark`` + r, which
    means nothing else. Fills ``ids``, which has room for all chunks and one more, and ``offsets``; returns how many ids
    there are, or -1 if groups of words need more room.
    """
    out = 0
    for row in range(len(chunk_offsets) - 1):
        own = mark + row
        for k in range(chunk_offsets[row], chunk_offsets[row + 1]):
            word = meanings[np.uint64(k)]
            if word >= -1:
                ids[np.uint64(out)] = word
                out += (word >= 0) & (stamps[np.uint64(word + 1)] != own)
                stamps[np.uint64(word + 1)] = own
                continue
            place = -2 - word
            if out + groups[place] + len(meanings) - k >= len(ids):
                return -1
            for w in range(place + 1, place + 1 + groups[place]):
                word = groups[w]
                ids[np.uint64(out)] = word
                out += (word >= 0) & (stamps[np.uint64(word + 1)] != own)
                stamps[np.uint64(word + 1)] = own
        offsets[row + 1] = out
    return out


@numba.njit(cache=True)  # some microseconds: not worth letting other threads in
def words_of_one(data, edges, slots, arena, groups, stamps, mark, ids):
    """The set of words of one text, in one call: fills ``ids``, and returns how many they are, and 0.

    If chunks are unknown, ``edges`` begins with theirs, and the second number is how many. ``edges`` has room for all
    chunks, ``ids`` for one word of each and one more: where that is not enough, the first number is -1.
    """
    offsets = np.zeros(2, dtype=np.int64)
    chunks = cut(data, np.array([0, len(data)]), edges, offsets)
    meanings, unknown = np.empty(chunks, dtype=np.int32), np.empty(chunks + 1, dtype=np.int64)
    found = look_up(data, edges[:chunks], slots, arena, meanings, unknown)
    for k in range(found):
        edges[k, 0], edges[k, 1] = edges[unknown[k], 0], edges[unknown[k], 1]
    if found:
        return 0, found
    return term_sets(meanings, offsets, groups, stamps, mark, ids, np.empty(2, dtype=np.int64)), 0
