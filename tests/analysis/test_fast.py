import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.analysis import Analyser, kernels
from tidings.analysis.fast import ChunkTable, FastAnalyser
from tidings.analysis.vocabulary import Vocabulary
from tidings.arrays.growing import read_only
from tidings.model import DataError

EXACT = Analyser()
SHARED = FastAnalyser()

# What is likely to be cut wrongly: pieces of links, names, letters of several bytes, spaces of all kinds.
_pieces = st.sampled_from(
    ["http", "https", "://", ":", "/", "//", "@", "_", "'", "’", "’s", " ", "\t", "\n", "\0", "\x7f", "\x85", "\u00a0",
     "\u1680", "\u2000", "\u200a", "\u200b", "\u2028", "\u202f", "\u205f", "\u3000", "\u3001", "\ufeff", "a", "B",
     "fire", "Fires", "the", "é", "e\u0301", "ß", "白", "㐀", "䶿", "䷀", "一", "鿿", "ꀀ", "あ", "ア", "한", "😀", "❤️",
     "½", "ﬁ", "\U00020000", "1", "9.5", "#", "&amp;", "HtTp", "s", "\u0331", "\u3099", "İ", "ı", "i\u0307", "I", "SS",
     "ẞ", "Σ", "ς", "Ǆ", "ŉ", "և", "Ꭰ", "ꭰ", "\ufdfa", "\u0345", "ᾳ", "Ω", "K", "ก", "ा", "\u200d", "\u202e", "🄰"]
)  # fmt: skip
_texts = st.one_of(st.lists(_pieces, max_size=14).map("".join), st.text(max_size=30)).map(
    lambda text: text.encode("utf-8", "replace").decode()
)

# Alike in the first eight and sixteen bytes, which are compared at once; no chunk has a zero byte.
_chunks = st.tuples(
    st.sampled_from([b"", b"abcdefgh", b"abcdefghijklmnop"]),
    st.lists(st.sampled_from(b"ab\x80\xff"), min_size=1, max_size=9).map(bytes),
).map(b"".join)


def words(fast: FastAnalyser, texts: list[str | None]) -> list[list[str]]:
    sets = fast.analyse(pa.array(texts, pa.string()))
    return [[fast.vocabulary[i] for i in sets.row(row)] for row in range(len(sets))]


@examples(1500)
@given(st.lists(_texts, max_size=4))
def test_the_fast_analyser_equals_the_exact_one(texts: list[str]) -> None:
    expected = [EXACT.words(text) for text in texts]
    assert words(SHARED, list(texts)) == expected
    assert words(FastAnalyser(), list(texts)) == expected
    assert [[SHARED.vocabulary[i] for i in SHARED.analyse_one(text)] for text in texts] == expected
    fresh = FastAnalyser(max_chunks=3)  # one text at a time, chunks never seen before, forgotten again and again
    assert [[fresh.vocabulary[i] for i in fresh.analyse_one(text)] for text in texts] == expected


@pytest.mark.parametrize("filler", ["x", " ", "ä", "a b", "漢"])
def test_what_a_byte_does_depends_on_no_block(filler: str) -> None:
    """Text is cut 64 bytes at a time: each border of two blocks may lie in whatever has a meaning of its own."""
    special = [
        "@name's end",
        "https://a.bc/d?e@f rain",
        "http:/x",
        "漢字 fire",
        "a漢b",
        "ﬁre:é",
        "@",
        "://",
        "ㄱ々",
        "",
    ]
    texts = [
        (filler * count)[:count] + what + " smoke" + tail
        for count in range(140)
        for what in special
        for tail in ("", "s")
    ]
    expected = [EXACT.words(text) for text in texts]
    assert words(SHARED, list(texts)) == expected
    assert words(SHARED, list(texts[::-1])) == expected[::-1]
    assert [[SHARED.vocabulary[i] for i in SHARED.analyse_one(text)] for text in texts] == expected


@examples(300)
@given(st.lists(_texts, max_size=3))
def test_sequences_equal_the_exact_tokens(texts: list[str]) -> None:
    rows = SHARED.sequences(pa.array(texts, pa.string()))
    known = [[SHARED.vocabulary[i] if i >= 0 else None for i in rows.row(r)] for r in range(len(rows))]
    assert known == [[token.word for token in EXACT.tokens(text)] for text in texts]


def test_all_layouts_of_a_text_column_are_read() -> None:
    texts = ["fire one", None, "", "smoke two", "rain three"]
    expected = [["fire", "on"], [], [], ["smoke", "two"], ["rain", "three"]]
    assert words(SHARED, list(texts)) == expected
    column = pa.array(texts)
    for layout in (
        column.cast(pa.large_string()),
        column.cast(pa.string_view()),
        column.dictionary_encode(),
        pa.chunked_array([column.slice(0, 2), column.slice(2)]),
        pa.concat_arrays([pa.array(["skipped words"]), column]).slice(1),
    ):
        sets = SHARED.analyse(layout)
        assert [[SHARED.vocabulary[i] for i in sets.row(r)] for r in range(5)] == expected
    assert len(SHARED.analyse(pa.array([], pa.string()))) == 0
    assert [len(SHARED.analyse(pa.array([None] * n, pa.string()))) for n in (0, 1, 3)] == [0, 1, 3]


def test_bytes_that_are_no_utf8_do_not_harm_their_neighbours() -> None:
    texts = [
        b"fire \xe4\xb8",
        b"smoke",
        b"\xff\xfe",
        b"\xe7",
        b"caf\xe9 fire",
        b"\xe9@alice smoke",
        b"\xe5http://x/y fire",
    ]
    raw = pa.Array.from_buffers(
        pa.string(),
        len(texts),
        [None, pa.py_buffer(np.cumsum([0, *map(len, texts)]).astype(np.int32)), pa.py_buffer(b"".join(texts))],
    )
    sets = SHARED.analyse(raw)
    assert [[SHARED.vocabulary[i] for i in sets.row(r)] for r in range(7)] == [
        ["fire"], ["smoke"], [], [], ["caf", "fire"], ["smoke"], ["fire"]
    ]  # fmt: skip


@examples(500)
@given(
    st.lists(st.lists(st.sampled_from([*b"aZ1'@_:/ h", *bytes(range(0x7F, 0x100))]), max_size=8).map(bytes), max_size=4)
)
def test_any_bytes_mean_what_their_replacement_means(raw: list[bytes]) -> None:
    texts = [b"fire " + row + b" smoke" for row in raw]
    bounds = pa.py_buffer(np.cumsum([0, *map(len, texts)]).astype(np.int32))
    column = pa.Array.from_buffers(pa.string(), len(texts), [None, bounds, pa.py_buffer(b"".join(texts))])
    sets = SHARED.analyse(column)
    got = [[SHARED.vocabulary[i] for i in sets.row(r)] for r in range(len(texts))]
    assert got == [EXACT.words(row.decode("utf-8", "replace")) for row in texts]


@pytest.mark.thorough
def test_the_table_grows_with_distinct_words_and_long_rows() -> None:
    many = [" ".join(f"w{i}x{j}" for j in range(100)) for i in range(1000)]
    long = " ".join(f"v{i}" for i in range(150_000))
    fast = FastAnalyser()
    assert words(fast, [*many, long]) == [EXACT.words(text) for text in [*many, long]]
    assert words(fast, [long]) == [EXACT.words(long)]


def test_forgetting_changes_nothing_but_memory() -> None:
    fast = FastAnalyser(max_chunks=10)
    for i in range(50):
        assert words(fast, [f"fire{i} smoke{i} rain"]) == [[f"fire{i}", f"smoke{i}", "rain"]]
        assert fast._table.count <= 13


@examples(300)
@given(st.dictionaries(_chunks, st.integers(-(2**31), 2**31 - 1), max_size=60), st.lists(_chunks, max_size=5))
def test_a_table_gives_each_chunk_its_own_meaning_and_others_none(known: dict[bytes, int], more: list[bytes]) -> None:
    table = ChunkTable(places=2)  # so full that chunks meet in its slots
    twice = [*known, *known]
    chunks = b"".join(twice)
    ends = np.cumsum([len(raw) for raw in twice], dtype=np.int64)
    edges = np.stack([ends - [len(raw) for raw in twice], ends], axis=1).reshape(-1, 2).astype(np.int64)
    lines = table.reserve(chunks, edges)
    assert lines.tobytes() == b"".join(raw + b"\n" for raw in known) and table.count == len(known)
    table.put(lines, np.array([*known.values()], dtype=np.int32))
    asked = [*known, *more]
    for gap in (b" ", b" " * 20):  # what is near the end of the bytes is read in another way
        data = np.frombuffer(b"".join(raw + gap for raw in asked), dtype=np.uint8)
        ends = np.cumsum([len(raw) + len(gap) for raw in asked], dtype=np.int64) - len(gap)
        edges = np.stack([ends - [len(raw) for raw in asked], ends], axis=1).reshape(-1, 2).astype(np.int64)
        meanings, unknown = np.zeros(len(asked), dtype=np.int32), np.zeros(len(asked) + 1, dtype=np.int64)
        count = kernels.look_up(read_only(data), edges, table.slots, table.arena, meanings, unknown)
        assert meanings[: len(known)].tolist() == list(known.values())
        assert [asked[k] for k in unknown[:count]] == [raw for raw in more if raw not in known]


def test_long_chunks_with_the_same_hash_are_told_apart() -> None:
    fast = FastAnalyser()
    for text in ("electroencephalogram smoke", "electroencephalogram"):
        assert words(fast, [text]) == [EXACT.words(text)]
        fast._table.arena[kernels.SEED_BYTES] ^= 1  # the slot of this hash now belongs to other bytes
    assert fast._table.count == 3
    assert words(fast, ["electroencephalogram smoke"] * 2) == [EXACT.words("electroencephalogram smoke")] * 2
    assert fast._table.count == 3  # the first of the two is found again


def test_chunks_that_begin_alike_are_told_apart_at_any_length() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    alike = [letters[:n] + last for n in range(36) for last in ("x", "xy", "é", letters[n])]
    fast = FastAnalyser(Analyser(stop_words=frozenset(), stemming=False))
    expected = [[chunk] for chunk in alike]
    for _ in range(2):
        assert words(fast, [*alike]) == expected  # most with others behind them
        assert [words(fast, [chunk])[0] for chunk in alike] == expected  # each at the end of its column
        assert [[fast.vocabulary[i] for i in fast.analyse_one(chunk)] for chunk in alike] == expected


def test_one_text_may_have_more_words_than_chunks() -> None:
    fast = FastAnalyser()
    for text in ("\ufdfa" * 3, " ".join(f"{i}½⅓\ufdfa" for i in range(2000)), " ".join("abc") * 700, "a" * 5000):
        assert [fast.vocabulary[i] for i in fast.analyse_one(text)] == EXACT.words(text)


def test_a_fixed_vocabulary_is_not_grown() -> None:
    fast = FastAnalyser(vocabulary=Vocabulary(["fire"]), grow=False)
    assert words(fast, ["fire and smoke"]) == [["fire"]]
    assert fast.analyse_one("rain, fire and smoke").tolist() == [0]
    assert list(fast.vocabulary) == ["fire"]
    fast.vocabulary.add("smoke")
    assert fast.analyse_one("rain, fire and smoke").tolist() == [0, 1]
    assert words(fast, ["fire and smoke"]) == [["fire", "smoke"]]


def test_other_analysers_are_followed() -> None:
    assert words(FastAnalyser(Analyser(stemming=False)), ["the houses"]) == [["houses"]]


def test_what_is_no_text_is_refused() -> None:
    for wrong in (pa.array([[1]]), pa.array([1]), pa.array([b"x"]), ["x"]):
        with pytest.raises(DataError, match="column of text"):
            SHARED.analyse(wrong)


_BORDERS = [*range(0x80, 0x100), *range(0x1670, 0x1690), *range(0x1FF0, 0x2070), *range(0x2FF0, 0x3010)]
_BORDERS += [*range(0x33B0, 0x3410), *range(0x4DB0, 0x4E10), *range(0x9FF0, 0xA010)]


@pytest.mark.parametrize("pattern", ["https://x{}fire", "ab{}cd {}{}", "@name{}s"])
def test_every_letter_around_the_borders_of_spaces_and_of_han_is_cut_alike(pattern: str) -> None:
    texts = [pattern.replace("{}", chr(code)) for code in _BORDERS]
    for text, found in zip(texts, words(SHARED, list(texts)), strict=True):
        assert found == EXACT.words(text), ascii(text)


def test_no_two_tables_hash_alike() -> None:
    """Or somebody who knows how could write posts whose chunks all meet in one slot."""
    chunks = [b"w%d" % number for number in range(200)] + [b"a chunk of over 16 bytes %d" % n for n in range(50)]
    text = b"".join(chunks)
    ends = np.cumsum([len(raw) for raw in chunks], dtype=np.int64)
    edges = np.stack([ends - [len(raw) for raw in chunks], ends], axis=1)
    places = []
    for _ in range(2):
        table = ChunkTable()
        table.reserve(text, edges)
        places.append({tuple(slot[:2]): k for k, slot in enumerate(table.slots.tolist()) if slot[0] and slot[0] & 255})
    assert places[0].keys() == places[1].keys()
    assert sum(places[0][key] == places[1][key] for key in places[0]) < 10
