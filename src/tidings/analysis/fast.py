"""Which words do these million texts have? The fast analyser: one compiled pass over an Arrow column.

The bytes of a text are cut into chunks; a chunk that was seen before is looked up by its raw bytes, one that was not
goes once through the exact analyser and is remembered. So the answer is the exact analyser's, at a multiple of its
speed (``make bench ARGS="analysis"``).
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import kernels
from tidings.analysis.analyser import Analyser, folded
from tidings.analysis.cutting.kernels import cut
from tidings.analysis.vocabulary import TermSets, Vocabulary
from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import Growing, read_only
from tidings.model import DataError

MAX_CHUNKS = 4_000_000
_MAX_ARENA_BYTES = 1 << 27
_AT_A_TIME = 1 << 14
_BLOCK_BYTES = 1 << 18
"""How much text passes all loops before more is read: its chunks stay in the processor's cache."""

_FOLDED_BYTES = 1 << 22
"""So many bytes of new chunks are remembered folded, until another analyser has read the same table."""

ByteArray = npt.NDArray[np.uint8]
_NO_BYTES: ByteArray = read_only(np.zeros(1, dtype=np.uint8))


class ChunkTable:
    """Raw chunks of text, and what each of them means. A chunk is found by nothing but its own bytes.

    How ``slots`` and ``arena`` hold them is told in :mod:`tidings.analysis.kernels`, which looks chunks up.
    """

    def __init__(self, places: int = 1 << 14) -> None:
        """``places``: how many slots to begin with, a power of two."""
        self.count = 0
        self.slots = np.zeros((places, 3), dtype=np.uint64)
        self._arena = Growing(np.uint8)
        self._arena.extend(np.frombuffer(os.urandom(kernels.SEED_BYTES), dtype=np.uint8))

    @property
    def arena(self) -> ByteArray:
        return self._arena.array

    @property
    def size_bytes(self) -> int:
        return self.slots.nbytes + self.arena.nbytes

    def reserve(self, data: ByteArray | bytes, edges: IntArray) -> ByteArray:
        """Make room for those of some chunks that are not there yet; these, each once, with a line feed behind each.

        Their meanings have to follow: :meth:`put`.
        """
        lines = np.empty(int((edges[:, 1] - edges[:, 0]).sum()) + len(edges), dtype=np.uint8)
        length = 0
        for start in range(0, len(edges), _AT_A_TIME):  # or repeated chunks would make the table too large
            some = edges[start : start + _AT_A_TIME]
            self._make_room(len(some), int((some[:, 1] - some[:, 0]).sum()))
            found = kernels.reserve(data, some, self.slots, self.arena, len(self._arena), lines[length:])
            self.count += found[0]
            length += found[1]
            self._arena.count = found[2]
        return lines[:length]

    def put(self, lines: ByteArray, meanings: IdArray) -> None:
        """What chunks mean that have been reserved."""
        kernels.put(lines, meanings, self.slots, self.arena)

    def _make_room(self, chunks: int, size_bytes: int) -> None:
        most = 3 * (self.count + chunks) // 2 + 1
        if most > len(self.slots):
            old, self.slots = self.slots, np.zeros((1 << most.bit_length(), 3), dtype=np.uint64)
            kernels.refill(self.slots, old, self.arena)
        self._arena.room(len(self._arena) + size_bytes)


class Folding:
    """Folds chunks, and remembers the last ones for another analyser that reads the same text."""

    def __init__(self) -> None:
        self._lately: dict[bytes, list[str]] = {}
        self._size_bytes = 0

    def of(self, lines: bytes) -> list[str]:
        """The forms of each chunk of ``lines``, with spaces between them; between two chunks is a line feed."""
        found = self._lately.get(lines)
        if found is None:
            found = folded(lines.decode("utf-8", "replace").split("\n"))
            self._size_bytes += len(lines)
            if self._size_bytes > _FOLDED_BYTES:
                self._lately, self._size_bytes = {}, len(lines)
            self._lately[lines] = found
        return found


class FastAnalyser:
    """Analyses Arrow columns of text. Not safe to share between threads; it remembers chunks between calls.

    ``grow=True`` gives every new word an id; ``grow=False`` leaves out words that ``vocabulary`` does not have, for
    matching against a fixed set. At most ``max_chunks`` distinct chunks are remembered (36 to 72 bytes each); when they
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
        folding: Folding | None = None,
    ) -> None:
        self.analyser = analyser or Analyser()
        self.vocabulary = Vocabulary() if vocabulary is None else vocabulary
        self._grow = grow
        self._max_chunks = max_chunks
        self._folding = folding or Folding()
        self._make_room(512)
        self._stamps: IntArray = np.zeros(0, dtype=np.int64)
        self._mark = 0
        self._forget()

    def analyse(self, texts: pa.Array | pa.ChunkedArray) -> TermSets:
        """The set of words of each text; a null has none. Cost: 1 to 2 µs for a post of 250 characters."""
        return self._sets(*self._read(texts))

    def analyse_both(self, texts: pa.Array | pa.ChunkedArray) -> tuple[TermSets, TermSets]:
        """:meth:`analyse` and :meth:`sequences` of the same texts, which are cut once."""
        read = self._read(texts)
        return self._sets(*read), self._sequences(*read)

    def _sets(self, meanings: IdArray, chunk_offsets: IntArray) -> TermSets:
        ids = np.empty(self._most_words(meanings) + 1, dtype=np.int32)
        offsets = np.zeros(len(chunk_offsets), dtype=np.int64)
        mark = self._next_mark(len(offsets))
        count = kernels.term_sets(meanings, chunk_offsets, self._groups.array, self._stamps, mark, ids, offsets)
        return TermSets(offsets, ids[:count].copy())

    def analyse_one(self, text: str) -> IdArray:
        """The set of words of one text: :meth:`analyse` for one, in a few microseconds.

        >>> FastAnalyser().analyse_one("Fire, fire!").tolist()
        [0]
        """
        self._keep_small()
        data = text.encode()
        if len(data) >= _BLOCK_BYTES:
            return self.analyse(pa.array([text], pa.large_string())).ids
        if len(data) >= len(self._ids):
            self._make_room(len(data))
        found, unknown = self._words_of_one(data)
        if unknown:  # it is read again when they are known
            self._learn(data, self._edges[:unknown])
            found, _ = self._words_of_one(data)
        return self._ids[:found] if found >= 0 else self.analyse(pa.array([text], pa.large_string())).ids

    def sequences(self, texts: pa.Array | pa.ChunkedArray) -> TermSets:
        """The words of each text at their positions, repeated ones too; a stop word is -1.

        >>> FastAnalyser().sequences(pa.array(["fire of fire", "the"])).ids.tolist()
        [0, -1, 0, -1]
        """
        return self._sequences(*self._read(texts))

    def _sequences(self, meanings: IdArray, chunk_offsets: IntArray) -> TermSets:
        ids = np.empty(self._most_words(meanings), dtype=np.int32)
        offsets = np.zeros(len(chunk_offsets), dtype=np.int64)
        kernels.sequences(meanings, chunk_offsets, self._groups.array, ids, offsets)
        return TermSets(offsets, ids[: offsets[-1]])

    def _words_of_one(self, data: bytes) -> tuple[int, int]:
        mark, table = self._next_mark(1), self._table
        found: tuple[int, int] = kernels.words_of_one(
            data, self._edges, table.slots, table.arena, self._groups.array, self._stamps, mark, self._ids
        )
        return found

    def _make_room(self, size_bytes: int) -> None:
        """Room for the chunks of one text of twice as many bytes."""
        self._ids: IdArray = np.empty(2 * size_bytes, dtype=np.int32)
        self._edges: IntArray = np.empty((size_bytes + 1, 2), dtype=np.int64)

    def _next_mark(self, rows: int) -> int:
        """The first of so many marks that no stamp has; there are more stamps than words."""
        if len(self.vocabulary) >= len(self._stamps):
            self._stamps = np.full(2 * len(self.vocabulary) + 1024, -1, dtype=np.int64)
        self._mark += rows
        return self._mark - rows

    def _most_words(self, meanings: IdArray) -> int:
        """How many words these chunks have, or some more."""
        return len(meanings) + int(self._groups.array[-2 - meanings[meanings < -1]].sum())

    def _read(self, texts: pa.Array | pa.ChunkedArray) -> tuple[IdArray, IntArray]:
        """What the chunks of all texts mean, and where those of each text begin; block by block."""
        self._keep_small()
        data, bounds = _column(texts)
        chunk_offsets = np.zeros(len(bounds), dtype=np.int64)
        blocks = [np.empty(0, dtype=np.int32)]
        row = 0
        while row < len(bounds) - 1:
            stop = max(row + 1, int(np.searchsorted(bounds, bounds[row] + _BLOCK_BYTES, side="right")) - 1)
            rows = slice(row, stop + 1)
            edges = np.empty((int(bounds[stop] - bounds[row] + stop - row) // 2 + 1, 2), dtype=np.int64)
            blocks.append(self._meanings(data, edges[: cut(data, bounds[rows], edges, chunk_offsets[rows])]))
            row = stop
        return np.concatenate(blocks), chunk_offsets

    def _meanings(self, data: ByteArray, edges: IntArray) -> IdArray:
        """What these chunks mean; those never seen before go through the exact analyser."""
        table, meanings = self._table, np.empty(len(edges), dtype=np.int32)
        unknown = np.empty(len(edges) + 1, dtype=np.int64)
        unknown = unknown[: kernels.look_up(data, edges, table.slots, table.arena, meanings, unknown)]
        if len(unknown):
            edges = edges[unknown]
            self._learn(data, edges)
            learned, none = np.empty(len(edges), dtype=np.int32), np.empty(len(edges) + 1, dtype=np.int64)
            kernels.look_up(data, edges, table.slots, table.arena, learned, none)
            meanings[unknown] = learned
        return meanings

    def _learn(self, data: ByteArray | bytes, edges: IntArray) -> None:
        """Remember what these chunks mean, by the exact analyser."""
        lines = self._table.reserve(data, edges)
        try:
            forms_of = self._folding.of(lines[:-1].tobytes())
            forms = " ".join(forms_of).split()
            meanings = self._word_ids(forms) if forms == forms_of else self._grouped(forms_of, forms)
            self._table.put(lines, meanings)
        except BaseException:
            self._forget()  # or chunks would stay that mean nothing
            raise
        self.size_bytes = self._table.size_bytes + self._groups.array.nbytes + self.vocabulary.size_bytes

    def _grouped(self, forms_of: list[str], forms: list[str]) -> IdArray:
        """What chunks mean of which some have several forms or none; ``forms``: those of all chunks."""
        distinct = [*dict.fromkeys(forms)]  # some characters stand for many words
        known = dict(zip(distinct, self._word_ids(distinct).tolist(), strict=True))
        words = np.fromiter(map(known.__getitem__, forms), np.int32, len(forms))
        counts = np.fromiter(map(len, map(str.split, forms_of)), np.int64, len(forms_of))
        others = np.flatnonzero(counts != 1)
        ends = np.cumsum(counts[others] + 1)
        begins = ends - counts[others] - 1
        groups = np.empty(int(ends[-1]), dtype=np.int32)
        groups[begins] = counts[others]
        is_word = np.ones(len(groups), dtype=np.bool_)
        is_word[begins] = False
        groups[is_word] = words[np.repeat(counts != 1, counts)]
        meanings = np.empty(len(forms_of), dtype=np.int32)
        meanings[counts == 1] = words[np.repeat(counts == 1, counts)]
        meanings[others] = -2 - len(self._groups) - begins
        self._groups.extend(groups)
        return meanings

    def _keep_small(self) -> None:
        """Forget all chunks if they are too many, or if what they leave out as unknown may be known by now."""
        too_many = self._table.count > self._max_chunks or len(self._table.arena) > _MAX_ARENA_BYTES
        if too_many or (not self._grow and len(self.vocabulary) != self._known_words):
            self._forget()

    def _forget(self) -> None:
        self._table = ChunkTable()
        self._groups = Growing(np.int32)
        self.size_bytes = self.vocabulary.size_bytes
        """About so much memory is taken by what it remembers."""
        self._known_words = len(self.vocabulary)

    def _word_ids(self, forms: list[str]) -> IdArray:
        """The words of some forms: -1 for a stop word, and for a word that is not to be known."""
        words = self.analyser.words_of(forms)
        return self.vocabulary.add_all(words) if self._grow else self.vocabulary.find_all(words)


def _column(texts: pa.Array | pa.ChunkedArray) -> tuple[ByteArray, IntArray]:
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
        return _NO_BYTES, np.zeros(len(texts) + 1, dtype=np.int64)
    bounds = np.frombuffer(offset_buffer, dtype=width)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return read_only(np.frombuffer(data_buffer, dtype=np.uint8)) if data_buffer else _NO_BYTES, bounds


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(check(kind) for check in checks)
