"""The inner loops of the fast analyser: arrays in, arrays out, compiled by numba.

Symbols: ``data`` the UTF-8 bytes of a column, ``bounds`` where its rows begin and end. A chunk is known by its 64-bit
hash: ``slots`` uint64, open addressing, 0 is free, else the upper half of the hash over the entry number + 1. The raw
bytes of entry e are ``arena[starts[e] : starts[e + 1]]``, and every hit is compared with them.

Cutting, looking up and comparing are separate loops on purpose: a look-up waits for memory, and only a loop without the
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
_LOW = np.uint64(0xFFFFFFFF)


def byte_classes() -> npt.NDArray[np.uint8]:
    """uint8[256]: what each byte does to the chunk under way."""
    classes = np.full(256, SEPARATOR, dtype=np.uint8)
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
def _after_name(data, i, end, classes):
    while i < end and ((data[i] < 0x80 and data[i] != 39 and classes[data[i]] == CHUNK) or data[i] == 95):
        i += 1
    return i


@numba.njit(cache=True, nogil=True)
def cut(data, bounds, classes, hashes, begins, lengths, chunk_offsets):
    """Cut rows into chunks: their hashes uint64, first bytes int64, lengths int32.

    Row r has the chunks chunk_offsets[r] - chunk_offsets[0] … of this call; chunk_offsets[0] is given, the others are
    filled in. There is room for (bytes + rows) / 2 + 1 chunks. Returns how many there are.
    """
    out = 0
    for row in range(len(bounds) - 1):
        i, end = bounds[row], bounds[row + 1]
        while i < end:
            start = i
            value = _HASH_SEED
            kind = classes[data[i]]
            while True:
                while kind == CHUNK:
                    value = (value ^ np.uint64(data[i])) * _HASH_PRIME
                    i += 1
                    kind = classes[data[i]] if i < end else np.uint8(SEPARATOR)
                if kind != HAN_LEAD or _is_han(data, i, end):
                    break
                kind = np.uint8(CHUNK)
            stop = i
            i += 1
            if kind == AT:
                i = _after_name(data, i, end, classes)
            elif kind == COLON:
                letters = _link_letters(data, start, stop, end)
                if letters:
                    i = _after_link(data, i, end)
                    stop -= letters
                    value = fnv1a(data, start, stop)
            if stop > start:
                hashes[out], begins[out], lengths[out] = value, start, stop - start
                out += 1
            if kind == HAN_LEAD:
                hashes[out], begins[out], lengths[out] = fnv1a(data, stop, stop + 3), stop, 3
                out += 1
                i = stop + 3
        chunk_offsets[row + 1] = chunk_offsets[0] + out
    return out


@numba.njit(cache=True, nogil=True)
def look_up(hashes, slots, entries, count, news):
    """The entry of each hash; one never seen gets the next number, and its place in ``hashes`` goes to ``news``.

    ``count`` entries exist before; returns how many exist after.
    """
    mask = np.uint64(len(slots) - 1)
    first = count
    for k in range(len(hashes)):
        value = hashes[k]
        tag = value & ~_LOW
        slot = (value ^ (value >> np.uint64(32))) & mask
        while slots[slot] != 0 and slots[slot] & ~_LOW != tag:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == 0:
            news[count - first] = k
            count += 1
            slots[slot] = tag | np.uint64(count)
        entries[k] = np.int64(slots[slot] & _LOW) - 1
    return count


@numba.njit(cache=True, nogil=True)
def remember(data, begins, lengths, news, count, starts, arena):
    """Copy the raw bytes of new entries, numbered from ``count`` on, into the arena."""
    for k in news:
        at = starts[count]
        for j in range(lengths[k]):
            arena[at + j] = data[begins[k] + j]
        count += 1
        starts[count] = at + lengths[k]


@numba.njit(cache=True, nogil=True)
def compare(data, begins, lengths, entries, starts, arena, strangers):
    """Which chunks share a hash with their entry but not its bytes: fills ``strangers``, returns how many."""
    found = 0
    for k in range(len(entries)):
        at = starts[entries[k]]
        length = lengths[k]
        differs = np.uint8(starts[entries[k] + 1] - at != length)
        if differs == 0:
            for j in range(length):
                differs |= arena[at + j] ^ data[begins[k] + j]
        if differs != 0:
            strangers[found] = k
            found += 1
    return found


@numba.njit(cache=True, nogil=True)
def learn(data, begins, lengths, hashes, slots, entries, count, starts, arena, scratch):
    """Fill ``entries`` with the entry of each chunk, where one never seen becomes a new one, after ``count``.

    ``scratch`` int64[chunks] ends with the strangers of :func:`compare`. Returns how many entries exist after, and how
    many strangers there are.
    """
    known, count = count, look_up(hashes, slots, entries, count, scratch)
    remember(data, begins, lengths, scratch[: count - known], known, starts, arena)
    return count, compare(data, begins, lengths, entries, starts, arena, scratch)


@numba.njit(cache=True)  # for one text, some microseconds: not worth letting other threads in
def learn_briefly(*arguments):
    return learn(*arguments)


@numba.njit(cache=True, nogil=True)
def fill_slots(slots, starts, arena, count):
    """File entries 0 … count - 1 in a table that is empty (all 0)."""
    mask = np.uint64(len(slots) - 1)
    for entry in range(count):
        value = fnv1a(arena, starts[entry], starts[entry + 1])
        slot = (value ^ (value >> np.uint64(32))) & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = (value & ~_LOW) | np.uint64(entry + 1)


@numba.njit(cache=True, nogil=True)
def term_sets(entries, chunk_offsets, first_word, word_ids, stamps, mark, ids, offsets):
    """From chunks to sets of terms: each word of each row once, stop words (-1) left out.

    Chunk e has the words word_ids[first_word[e] : first_word[e + 1]]. ``stamps`` int64[terms] is scratch: row r
    uses the mark ``mark`` + r, which means nothing else. Fills ``offsets`` and returns the number of ``ids`` written.
    """
    out = 0
    for row in range(len(chunk_offsets) - 1):
        for k in range(chunk_offsets[row], chunk_offsets[row + 1]):
            entry = entries[k]
            for w in range(first_word[entry], first_word[entry + 1]):
                word = word_ids[w]
                if word >= 0 and stamps[word] != mark + row:
                    stamps[word] = mark + row
                    ids[out] = word
                    out += 1
        offsets[row + 1] = out
    return out


@numba.njit(cache=True)  # some microseconds: not worth letting other threads in
def words_of_one(data, bounds, classes, hashes, begins, lengths, chunk_offsets, slots, starts, arena, first_word,
                 word_ids, stamps, mark, ids):  # fmt: skip
    """The set of words of one text whose chunks are all known, in one call: fills ``ids``.

    ``hashes``, ``begins`` and ``lengths`` are scratch with room for all chunks, ``ids`` for all words; ``stamps``
    int64[words] has no ``mark`` yet. Returns how many words there are, or -1 if a chunk is unknown, or more words than
    there is room for.
    """
    chunks = cut(data, bounds, classes, hashes, begins, lengths, chunk_offsets)
    mask = np.uint64(len(slots) - 1)
    found = 0
    for k in range(chunks):
        value = hashes[k]
        tag = value & ~_LOW
        slot = (value ^ (value >> np.uint64(32))) & mask
        while slots[slot] != 0 and slots[slot] & ~_LOW != tag:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == 0:
            return -1
        entry = np.int64(slots[slot] & _LOW) - 1
        at = starts[entry]
        if starts[entry + 1] - at != lengths[k]:
            return -1
        for j in range(lengths[k]):
            if arena[at + j] != data[begins[k] + j]:
                return -1
        for w in range(first_word[entry], first_word[entry + 1]):
            word = word_ids[w]
            if word >= 0 and stamps[word] != mark:
                if found == len(ids):
                    return -1
                stamps[word] = mark
                ids[found] = word
                found += 1
    return found
