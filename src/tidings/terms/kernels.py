"""The inner loops of the fast analyser: arrays in, arrays out, compiled by numba.

Symbols: ``data`` the UTF-8 bytes of a column, ``bounds`` where its rows begin and end. ``edges`` int64[chunks, 2]:
where each chunk begins and ends. ``slots`` uint64[2^n, 3] is a hash table with open addressing. A chunk is one row of
it, so that to find it touches one line of the cache:

- A chunk of up to 16 bytes: these bytes, the first one lowest, then zeros. No chunk has a zero byte, so equal numbers
  are equal chunks. The first number of a free slot is 0.
- A longer one: 256 times the place of its bytes in ``arena``, which is not 0, and a hash of them. Where the hash is
  equal, the bytes are compared.
- The third number: what the chunk means in the lower half, its length in the upper one. A chunk of one word means the
  id of the word, or -1 for a stop word; any other means -2 - p, and its ``groups[p]`` words follow in ``groups``.

Cutting and looking up are separate loops on purpose: a look-up waits for memory, and only a loop without the
unpredictable branches of cutting lets the processor wait for many at once.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# ruff: noqa: PLR0913, PLR0917, PLR1714  (kernels take arrays; a set in a compiled loop is slow)

import numba
import numpy as np
import numpy.typing as npt

SEPARATOR, CHUNK, HAN_LEAD, AT, COLON = 0, 1, 2, 3, 4
_HASH_SEED = np.uint64(0xCBF29CE484222325)
_HASH_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_MORE = np.uint64(0xD6E8FEB86659FD93)
_FREE, _BYTE, _LOW = np.uint64(0), np.uint64(0xFF), np.uint64(0xFFFFFFFF)
SHORT_BYTES = 16
_KEPT = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(SHORT_BYTES + 1)], dtype=np.uint64)
"""Which bits of eight bytes belong to a chunk of n bytes that begins there."""


def _byte_classes() -> npt.NDArray[np.int64]:
    """int64[256]: what each byte does to the chunk under way."""
    classes = np.full(256, SEPARATOR, dtype=np.int64)
    for characters in (
        b"abcdefghijklmnopqrstuvwxyz",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        b"0123456789'",
        range(0x80, 0x100),
    ):
        classes[list(characters)] = CHUNK
    classes[0xE3:0xEA] = HAN_LEAD
    classes[ord("@")] = AT
    classes[ord(":")] = COLON
    return classes


_CLASSES = _byte_classes()


@numba.njit(cache=True, nogil=True)
def _is_han(data, i, end):
    """Whether the lead byte at i (0xE3 to 0xE9) begins a letter of U+3400-4DBF or U+4E00-9FFF, three bytes long."""
    if i + 2 >= end or data[i + 1] & 0xC0 != 0x80 or data[i + 2] & 0xC0 != 0x80:
        return False  # not UTF-8: whatever it is, it takes nothing of its neighbours
    block = (data[i] & 0x0F) << 6 | (data[i + 1] & 0x3F)
    return 0xD0 <= block <= 0x136 or 0x138 <= block <= 0x27F


@numba.njit(cache=True, nogil=True)
def _is_space(data, i, end):
    """Whether a space or control character begins at byte i, as the exact analyser's links end at one."""
    first = data[i]
    if first <= 0x20 or first == 0x7F:
        return True
    if first == 0xC2 and i + 1 < end:
        return data[i + 1] == 0x85 or data[i + 1] == 0xA0
    if i + 2 >= end or not (first == 0xE1 or first == 0xE2 or first == 0xE3):
        return False
    second, third = data[i + 1], data[i + 2]
    if first == 0xE2 and second == 0x80:
        return 0x80 <= third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF
    return (
        (first == 0xE1 and second == 0x9A and third == 0x80)
        or (first == 0xE2 and second == 0x81 and third == 0x9F)
        or (first == 0xE3 and second == 0x80 and third == 0x80)
    )


@numba.njit(cache=True, nogil=True)
def _link_letters(data, start, i, end):
    """How many bytes before the colon at i are the "http" or "https" of a link; 0 if it is none."""
    if i + 2 >= end or data[i + 1] != 47 or data[i + 2] != 47:
        return 0
    letters = 5 if i - start >= 5 and (data[i - 1] | 0x20) == 115 else 4
    h = i - letters
    if h < start:
        return 0
    if (data[h] | 0x20) != 104 or (data[h + 1] | 0x20) != 116 or (data[h + 2] | 0x20) != 116:
        return 0
    return letters if (data[h + 3] | 0x20) == 112 else 0


@numba.njit(cache=True, nogil=True)
def fnv1a(data, start, end):
    """FNV-1a over the bytes."""
    value = _HASH_SEED
    for i in range(start, end):
        value = (value ^ np.uint64(data[i])) * _HASH_PRIME
    return value


@numba.njit(cache=True, nogil=True)
def _after_link(data, i, end):
    while i < end and (0x20 < data[i] < 0x7F or not _is_space(data, i, end)):
        i += 1
    return i


@numba.njit(cache=True, nogil=True)
def _after_name(data, i, end):
    while i < end and ((data[i] < 0x80 and data[i] != 39 and _CLASSES[data[i]] == CHUNK) or data[i] == 95):
        i += 1
    return i


@numba.njit(cache=True, nogil=True)
def cut(data, bounds, edges, chunk_offsets):
    """Cut rows into chunks: fills ``edges``, which has room for (bytes + rows) / 2 + 1 chunks; how many there are.

    Row r has the chunks chunk_offsets[r] - chunk_offsets[0] … of this call; chunk_offsets[0] is given, the others are
    filled in. A chunk that is under way is in ``flat`` with its begin alone, so that most bytes need no branch.
    """
    flat = edges.reshape(edges.size)
    n = 0
    for row in range(len(bounds) - 1):
        i, end = bounds[row], bounds[row + 1]
        inside = 0
        while i < end:
            kind = _CLASSES[data[i]]
            after = i + 1
            if kind > CHUNK:
                stop = i
                if kind == AT:
                    after = _after_name(data, after, end)
                elif kind == COLON:
                    stop -= _link_letters(data, flat[n - 1] if inside else i, i, end)
                    if stop < i:
                        after = _after_link(data, after, end)
                elif not _is_han(data, i, end):
                    kind = CHUNK
                if kind != CHUNK:
                    if inside:
                        inside = 0
                        flat[n] = stop
                        n += 1 if stop > flat[n - 1] else -1
                    if kind == HAN_LEAD:
                        after = i + 3
                        flat[n], flat[n + 1] = i, after
                        n += 2
                    i = after
                    continue
            flat[n] = i
            n += inside ^ kind
            inside = kind
            i = after
        flat[n] = end
        n += inside
        chunk_offsets[row + 1] = chunk_offsets[0] + n // 2
    return n // 2


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


@numba.njit(cache=True, nogil=True)
def _hash(data, begin, end):
    """The hash of a long chunk."""
    value = np.uint64(end - begin)
    for i in range(begin, end, 8):
        value = (value ^ few_bytes(data, i, end)) * _MIX
        value ^= value >> np.uint64(29)
    return value


@numba.njit(cache=True, nogil=True, inline="always")
def _home(first, second, mask):
    """The slot where a chunk of this key is looked for first; of a long one, ``first`` is 0 here."""
    value = (first ^ second * _MIX) * _MIX_MORE
    return (value ^ value >> np.uint64(32)) * _MIX >> np.uint64(20) & mask


@numba.njit(cache=True, nogil=True)
def _is_there(data, begin, end, arena, at):
    """Whether the arena has these bytes at that place."""
    for i in range(begin, end):  # noqa: SIM110  (compiled)
        if data[i] != arena[at + i - begin]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _long_slot(data, begin, end, slots, arena):
    """The slot of a long chunk, or a free one."""
    value = _hash(data, begin, end)
    mask = np.uint64(len(slots) - 1)
    slot = _home(_FREE, value, mask)
    while slots[slot, 0] != _FREE:
        if slots[slot, 0] & _BYTE == 0 and slots[slot, 1] == value:
            at, length = np.int64(slots[slot, 0] >> np.uint64(8)), np.int64(slots[slot, 2] >> np.uint64(32))
            if length == end - begin and _is_there(data, begin, end, arena, at):
                break
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def look_up(data, edges, slots, arena, meanings, unknown):
    """What each chunk means: fills ``meanings`` int32[chunks]; how many are not in the table, and ``unknown`` which.

    What usual chunks need is written out: to call a function with an array counts a reference, which takes longer than
    to find a chunk.
    """
    mask = np.uint64(len(slots) - 1)
    found = 0
    for k in range(len(edges)):
        begin, end = edges[k, 0], edges[k, 1]
        if end - begin > SHORT_BYTES:
            slot = _long_slot(data, begin, end, slots, arena)
        else:
            if begin + SHORT_BYTES <= len(data):
                first = eight_bytes(data, begin) & _KEPT[end - begin]
                second = eight_bytes(data, begin + 8) & _KEPT[max(end - begin, 8) - 8]
            else:
                first, second = few_bytes(data, begin, end), few_bytes(data, begin + 8, end)
            slot = _home(first, second, mask)
            while slots[slot, 0] != _FREE and (slots[slot, 0] != first or slots[slot, 1] != second):
                slot = (slot + np.uint64(1)) & mask
        meanings[k] = np.int32(slots[slot, 2] & _LOW)
        unknown[found] = k
        found += slots[slot, 0] == _FREE
    return found


@numba.njit(cache=True, nogil=True)
def _free_slot(slots, first, second):
    mask = np.uint64(len(slots) - 1)
    slot = _home(first if first & _BYTE else _FREE, second, mask)
    while slots[slot, 0] != _FREE:
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True)  # a microsecond: not worth letting other threads in
def put(raw, place, meaning, slots):
    """File a chunk, all of the bytes ``raw``, that is not there; if it is long, they are at ``place`` of the arena."""
    if len(raw) > SHORT_BYTES:
        first, second = np.uint64(place) << np.uint64(8), _hash(raw, 0, len(raw))
    else:
        first, second = few_bytes(raw, 0, len(raw)), few_bytes(raw, 8, len(raw))
    slot = _free_slot(slots, first, second)
    slots[slot, 0], slots[slot, 1] = first, second
    slots[slot, 2] = np.uint64(len(raw)) << np.uint64(32) | np.uint64(meaning) & _LOW


@numba.njit(cache=True, nogil=True)
def refill(slots, old):
    """File what is in ``old`` in a larger table that is empty (all 0)."""
    for k in range(len(old)):
        if old[k, 0] != _FREE:
            slot = _free_slot(slots, old[k, 0], old[k, 1])
            slots[slot, 0], slots[slot, 1], slots[slot, 2] = old[k, 0], old[k, 1], old[k, 2]


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

    ``stamps`` int64[more than words] is scratch, where the last one is that of stop words: row r uses the mark ``mark``
    + r, which means nothing else. Fills ``ids``, which has room for all chunks and one more, and ``offsets``; returns
    how many ids there are, or -1 if groups of words need more room.
    """
    out = 0
    for row in range(len(chunk_offsets) - 1):
        own = mark + row
        for k in range(chunk_offsets[row], chunk_offsets[row + 1]):
            word = meanings[k]
            if word >= -1:
                ids[out] = word
                out += (word >= 0) & (stamps[word] != own)
                stamps[word] = own
                continue
            place = -2 - word
            if out + groups[place] + len(meanings) - k >= len(ids):
                return -1
            for w in range(place + 1, place + 1 + groups[place]):
                word = groups[w]
                ids[out] = word
                out += (word >= 0) & (stamps[word] != own)
                stamps[word] = own
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
