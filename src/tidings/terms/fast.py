"""Which words do these million texts have? The fast analyser: one compiled pass over an Arrow column.

The bytes of a text are cut into chunks; a chunk that was seen before is looked up by its raw bytes, one that was not
goes once through the exact analyser and is remembered. So the answer is the exact analyser's, at a multiple of its
speed (``tidings bench analysis``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.model import DataError
from tidings.terms import kernels
from tidings.terms.analyser import Analyser
from tidings.terms.growing import Growing
from tidings.terms.vocabulary import IdArray, IntArray, TermSets, Vocabulary

MAX_CHUNKS = 4_000_000
_BLOCK_BYTES = 1 << 18
"""How much text passes all loops before more is read: its chunks stay in the processor's cache."""

ByteArray = npt.NDArray[np.uint8]


class ChunkTable:
    """Raw chunks of text, each with a dense entry number: found again by hash, and by nothing but its own bytes."""

    def __init__(self, room: int = 1 << 16) -> None:
        self.count = 0
        self.slots = np.zeros(2 * room, dtype=np.uint64)
        self.starts = np.zeros(room + 1, dtype=np.int64)
        self.arena = np.empty(12 * room, dtype=np.uint8)

    def entries(
        self,
        data: ByteArray,
        begins: IntArray,
        lengths: IdArray,
        hashes: npt.NDArray[np.uint64],
        learn: Callable[..., tuple[int, int]] = kernels.learn,
    ) -> IdArray:
        """The entry number of each chunk; those never seen before are added."""
        self._make_room(len(hashes), int(lengths.sum()))
        entries = np.empty(len(hashes), dtype=np.int32)
        scratch = np.empty(len(hashes), dtype=np.int64)
        self.count, found = learn(
            data, begins, lengths, hashes, self.slots, entries, self.count, self.starts, self.arena, scratch
        )
        if found:  # chunks that share their hash with another: each is an entry of its own that is never found again
            strangers = scratch[:found]
            self._make_room(found, int(lengths[strangers].sum()))
            kernels.remember(data, begins, lengths, strangers, self.count, self.starts, self.arena)
            entries[strangers] = np.arange(self.count, self.count + found)
            self.count += found
        return entries

    def raw(self, entry: int) -> bytes:
        return self.arena[self.starts[entry] : self.starts[entry + 1]].tobytes()

    def _make_room(self, chunks: int, size_bytes: int) -> None:
        """Let that many more chunks of that size in all fit, at least doubling what must grow."""
        room = len(self.starts) - 1
        if self.count + chunks > room:
            room = max(2 * room, 1 << (self.count + chunks).bit_length())
            self.starts = np.resize(self.starts, room + 1)
            self.slots = np.zeros(2 * room, dtype=np.uint64)
            kernels.fill_slots(self.slots, self.starts, self.arena, self.count)
        needed = int(self.starts[self.count]) + size_bytes
        if needed > len(self.arena):
            self.arena = np.resize(self.arena, max(2 * len(self.arena), needed))


class FastAnalyser:
    """Analyses Arrow columns of text. Not safe to share between threads; it remembers chunks between calls.

    ``grow=True`` gives every new word an id; ``grow=False`` leaves out words that ``vocabulary`` does not have, for
    matching against a fixed set. At most ``max_chunks`` distinct chunks are remembered (about 40 bytes each); when they
    are more, it forgets them all and starts anew.

    >>> fast = FastAnalyser()
    >>> sets = fast.analyse(pa.array(["Fire, fire!", None, "No smoke without fires"]))
    >>> [[fast.vocabulary[i] for i in sets.row(r)] for r in range(len(sets))]
    [['fire'], [], ['smoke', 'fire']]
    """

    def __init__(
        self,
        analyser: Analyser | None = None,
        vocabulary: Vocabulary | None = None,
        *,
        grow: bool = True,
        max_chunks: int = MAX_CHUNKS,
    ) -> None:
        self.analyser = analyser or Analyser()
        self.vocabulary = Vocabulary() if vocabulary is None else vocabulary
        self._grow = grow
        self._max_chunks = max_chunks
        self._classes = kernels.byte_classes()
        self._make_scratch(0)
        self._forget()

    def analyse(self, texts: pa.Array | pa.ChunkedArray) -> TermSets:
        """The set of words of each text; a null has none. Cost: 2 to 3 µs for a post of 250 characters."""
        entries, chunk_offsets = self._read(texts)
        first_word, word_ids = self._first_word.array, self._word_ids.array
        ids = np.empty(int((first_word[entries + 1] - first_word[entries]).sum()), dtype=np.int32)
        offsets = np.zeros(len(chunk_offsets), dtype=np.int64)
        if len(self.vocabulary) > len(self._stamps):
            self._make_scratch(0)
        count = kernels.term_sets(
            entries, chunk_offsets, first_word, word_ids, self._stamps, self._mark + 1, ids, offsets
        )
        self._mark += len(offsets)
        return TermSets(offsets, ids[:count].copy())

    def analyse_one(self, text: str) -> IdArray:
        """The set of words of one text: :meth:`analyse` for one, in a few microseconds.

        >>> FastAnalyser().analyse_one("Fire, fire!").tolist()
        [0]
        """
        if self._grow:
            data = text.encode()
            for _ in range(2):  # a text with chunks never seen before is read again when they are known
                found = self._words_of_one(data)
                if found >= 0:
                    return self._ids[:found]
                self._learn(data)
        return self.analyse(pa.array([text], pa.large_string())).ids

    def _words_of_one(self, data: bytes) -> int:
        table = self._table
        room = len(data) // 2 + 2
        if room > len(self._hashes) or len(self.vocabulary) > len(self._stamps):
            self._make_scratch(room)
        self._mark += 1
        bounds = np.array([0, len(data)])
        found: int = kernels.words_of_one(
            data, bounds, self._classes, self._hashes, self._begins, self._lengths, self._offsets, table.slots,
            table.starts, table.arena, self._first_word.array, self._word_ids.array, self._stamps, self._mark,
            self._ids,
        )  # fmt: skip
        return found

    def _learn(self, data: bytes) -> None:
        """Remember the chunks of the text that was just cut, without letting other threads in."""
        chunks = slice(int(self._offsets[1]))
        if self._table.count > self._max_chunks:
            self._forget()
        cut = self._begins[chunks], self._lengths[chunks], self._hashes[chunks]
        self._table.entries(np.frombuffer(data, dtype=np.uint8), *cut, kernels.learn_briefly)
        self._resolve()

    def _make_scratch(self, room: int) -> None:
        """Stamps for all words and more, and room for that many chunks of one text."""
        room = max(2 * room, 1024)
        self._hashes, self._begins = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.int64)
        self._lengths, self._ids = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
        self._offsets = np.zeros(2, dtype=np.int64)
        self._stamps: IntArray = np.full(2 * len(self.vocabulary) + 1024, -1, dtype=np.int64)
        self._mark = 0

    def sequences(self, texts: pa.Array | pa.ChunkedArray) -> TermSets:
        """The words of each text at their positions, repeated ones too; a stop word is -1.

        >>> FastAnalyser().sequences(pa.array(["fire of fire", "the"])).ids.tolist()
        [0, -1, 0, -1]
        """
        entries, chunk_offsets = self._read(texts)
        first_word = self._first_word.array
        lengths = first_word[entries + 1] - first_word[entries]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(first_word[entries] - ends[:-1], lengths) + np.arange(ends[-1])
        return TermSets(ends[chunk_offsets], self._word_ids.array[places])

    def _read(self, texts: pa.Array | pa.ChunkedArray) -> tuple[IdArray, IntArray]:
        """The chunks of each text, all of them resolved."""
        if self._table.count > self._max_chunks or (not self._grow and len(self.vocabulary) != self._known_words):
            self._forget()
        found = self._entries(*_column(texts))
        self._resolve()
        return found

    def _forget(self) -> None:
        self._table = ChunkTable()
        self._known_words = len(self.vocabulary)  # chunks remember words that were unknown: new ones make them untrue
        self._first_word, self._word_ids = Growing(np.int64), Growing(np.int32)
        self._first_word.append(0)

    def _entries(self, data: ByteArray, bounds: IntArray) -> tuple[IdArray, IntArray]:
        """The chunks of all rows, by entry number, and where each row's begin; block by block."""
        chunk_offsets = np.zeros(len(bounds), dtype=np.int64)
        blocks = [np.empty(0, dtype=np.int32)]
        row = 0
        while row < len(bounds) - 1:
            stop = max(row + 1, int(np.searchsorted(bounds, bounds[row] + _BLOCK_BYTES, side="right")) - 1)
            room = int(bounds[stop] - bounds[row] + stop - row) // 2 + 1
            hashes, begins = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.int64)
            lengths = np.empty(room, dtype=np.int32)
            rows = slice(row, stop + 1)
            n = kernels.cut(data, bounds[rows], self._classes, hashes, begins, lengths, chunk_offsets[rows])
            blocks.append(self._table.entries(data, begins[:n], lengths[:n], hashes[:n]))
            row = stop
        return np.concatenate(blocks), chunk_offsets

    def _resolve(self) -> None:
        """Send the chunks that are new through the exact analyser."""
        news = range(len(self._first_word) - 1, self._table.count)
        added: list[int] = []
        ends = []
        for entry in news:
            raw = self._table.raw(entry).decode("utf-8", "replace")
            added.extend(self._word_id(word) for _, word in self.analyser.chunk_tokens(raw))
            ends.append(len(self._word_ids) + len(added))
        self._word_ids.extend(added)
        self._first_word.extend(ends)

    def _word_id(self, word: str | None) -> int:
        if word is None:
            return -1
        return self.vocabulary.add(word) if self._grow else self.vocabulary.find(word)


def _column(texts: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of a text column and int64[rows + 1] bounds of its rows; nulls are empty rows."""
    if not isinstance(texts, pa.Array | pa.ChunkedArray) or not _is_text(texts.type):
        raise DataError(f"a column of text is needed, got {getattr(texts, 'type', type(texts).__name__)}")
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.cast(pa.large_string()).combine_chunks()  # several chunks may be too large for 32-bit offsets
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        texts = texts.cast(pa.large_string())
    if texts.null_count:
        texts = texts.fill_null("")
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offset_buffer, data_buffer = texts.buffers()
    if offset_buffer is None or len(texts) == 0:
        return np.zeros(1, dtype=np.uint8), np.zeros(len(texts) + 1, dtype=np.int64)
    bounds = np.frombuffer(offset_buffer, dtype=width)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer else np.zeros(1, dtype=np.uint8)
    return data, bounds


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(check(kind) for check in checks)
