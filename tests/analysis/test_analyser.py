import pickle
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Literal

import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tidings.analysis import Analyser, languages
from tidings.analysis import analyser as analyser_module
from tidings.analysis.analyser import MAX_RUN_CHARS, chunks, fold, folded
from tidings.engine import Engine
from tidings.language import evaluate, parse
from tidings.model import Publication, TidingsError

ENGLISH = Analyser()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("The and of", []),
        ("Fires, FIRE! fired", ["fire"]),
        ("see https://t.co/Ab1?x=y now: smoke", ["see", "smoke"]),
        ("👉https://t.co/Ab1 smoke", ["smoke"]),
        ("“https://t.co/Ab1” smoke", ["smoke"]),
        ("HTTPS://EXAMPLE.ORG smoke", ["smoke"]),
        ("seehttp://a.b/c smoke", ["see", "smoke"]),
        ("https://t.co/Ab1\u00a0smoke\u2003https://x\u3000fire", ["smoke", "fire"]),
        ("ratio 16:9 http:/x", ["ratio", "16", "9", "x"]),
        ("RT @White_House: @bob's smoke mail@example.org", ["smoke", "mail", "org"]),
        ("@https://x smoke", ["x", "smoke"]),
        ("in 2020, 1,000 of 3.5", ["2020", "1", "000", "3", "5"]),
        ("don't won’t O'Brien’s 'quoted' rock'n'roll", ["o'brien", "quot", "rock'n'rol"]),
        ("boss's's James's' ''s", ["boss", "jame"]),
        ("the U.S. and s", ["u", "s"]),
        ("#white_house e-mail", ["white", "hous", "e", "mail"]),
        ("naïve nai\u0308ve NAÏVE", ["naïv"]),
        ("ＦＩＲＥ ﬁre H\u0331 h\u0331", ["fire", "ẖ"]),
        ("❤️fire 1️⃣ 🏳️‍🌈smoke", ["fire", "1", "smoke"]),
        ("co\u00adoperate zero\u200bwidth می\u200cخواهم", ["cooper", "zero", "width", "میخواهم"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("昨天白宫说 アニメ", ["昨", "天", "白", "宫", "说", "アニメ"]),
        ("null\0byte \x1b[31m", ["null", "byte", "31m"]),
        ("\ud800 fire", ["fire"]),
        ("x" * 64 + " " + "y" * 65, ["x" * 64]),
        ("STRASSE straße STRAẞE", ["strass"]),
        ("istanbul İSTANBUL i\u0307stanbul I\u0307STANBUL İ\u0307stanbul", ["istanbul"]),
        ("ılık ILIK", ["ılık", "ilik"]),
        ("ΟΔΟΣ οδος οδοσ", ["οδοσ"]),
        ("Ǆ ǅ ǆ ﬀ FF Ａ a Ω ω", ["dž", "ff", "ω"]),
        ("ŉ 'n DON’T don't", ["n"]),
    ],
)
def test_a_text_has_these_words(text: str, words: list[str]) -> None:
    assert ENGLISH.words(text) == words


def test_stop_words_keep_their_place_and_links_have_none() -> None:
    tokens = ENGLISH.tokens("the https://t.co/x fire of @bob London")
    assert [(t.form, t.word, t.position) for t in tokens] == [
        ("the", None, 0),
        ("fire", "fire", 1),
        ("of", None, 2),
        ("london", "london", 3),
    ]


def test_language_stop_words_and_stemming_are_choices() -> None:
    german = Analyser("german", stop_words=frozenset({"Die", "und"}))
    assert german.words("Die Häuser und the Haus") == ["haus", "the"]
    assert Analyser(stemming=False).words("the houses") == ["houses"]
    assert Analyser(stop_words=frozenset()).words("the rt") == ["the", "rt"]


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(TidingsError, match=r"klingon.*german"):
        Analyser("klingon")
    with pytest.raises(TidingsError, match="set of words"):
        Analyser(stop_words="the")  # type: ignore[arg-type]
    assert len(languages()) > 20


def test_analysers_are_equal_by_their_options_and_travel() -> None:
    german = Analyser("german", stop_words=frozenset({"die"}))
    copy = pickle.loads(pickle.dumps(german))
    assert copy == german and hash(copy) == hash(german) and copy != ENGLISH
    assert copy.words("die Häuser") == ["haus"]


def test_threads_share_an_analyser() -> None:
    texts = [f"running runners {i} fires" for i in range(2000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ENGLISH.words, texts)) == [["run", "runner", str(i), "fire"] for i in range(2000)]


def test_a_chunk_ends_at_an_ascii_space_and_its_forms_at_any() -> None:
    assert chunks("white\thouse\u00a0now") == ["white", "house\u00a0now"]
    assert ENGLISH.words("white\thouse\u00a0london") == ["white", "hous", "london"]


@given(st.text(max_size=20))
def test_no_word_is_empty(text: str) -> None:
    for analyser in (ENGLISH, Analyser("german"), Analyser("french")):
        assert "" not in analyser.words(text)


def test_case_folding_meets_in_queries_prefixes_and_phrases() -> None:
    pairs = [
        ("STRASSE", "an der straße"), ("straße", "AN DER STRASSE"), ("straß*", "STRASSENBAHN"),
        ("STRASS*", "straßenbahn"), ("İSTANBUL", "in istanbul"), ("istanbul", "İSTANBUL da"), ("İstan*", "ISTANBUL"),
        ('"weiße straße"', "Weisse STRASSE"),
        ('"straße weiß"~4', "WEISS und die Strasse"),
    ]  # fmt: skip
    engine = Engine()
    for number, (query, _) in enumerate(pairs):
        engine.subscribe(query, id=str(number))
    for number, (query, text) in enumerate(pairs):
        assert evaluate(parse(query), Publication("p", text)), query
        assert str(number) in {match.subscription_id for match in engine.publish(id="p", text=text)}, query
        found = engine.match(pa.table({"id": ["p"], "text": [text]}))
        assert str(number) in found.ids().to_pylist(), query


def test_stop_words_are_folded_as_texts_are() -> None:
    assert Analyser("german", stop_words=frozenset({"Daß", "DIE"})).words("dass daß DASS die Straße") == ["strass"]
    assert Analyser("turkish", stop_words=frozenset({"İle"})).words("ile İLE") == []


@given(st.text(max_size=12))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize("variant", [str.upper, str.lower, str.title, str.casefold, str.swapcase])
@example(text="\u1fc7")  # its title is a letter with an iota below, and a mark that belongs to the letter
@given(text=st.text(st.characters(max_codepoint=0x1FFF, categories=["Lu", "Ll", "Lt", "Nd"]), max_size=8))
def test_a_word_in_any_case_is_the_same_word(variant: Callable[[str], str], text: str) -> None:
    assume("ı" not in text and "\u0345" not in text)  # dotless i has no case of its own but in Turkish
    assert fold(variant(text)) == fold(text)


_GAPS = ["\x85", "\xa0", "\u2003", "\u2014", "\u201c", "\u3000", "\u3002", "❤", "😀"]
_LETTERS = [
    "fire",
    "É",
    "e\u0301",
    "\u0338",
    "\u3099",
    "か",
    "'s",
    "’",
    "ß",
    "İ",
    "½",
    "\ufdfa",
    "→",
    "1",
    "\u200d",
    "ं",
]


@given(st.lists(st.sampled_from(_GAPS + _LETTERS), max_size=40).map("".join))
def test_a_long_chunk_has_the_forms_of_its_runs(chunk: str) -> None:
    long = chunk + "\xa0fire" * 60
    assert folded([long])[0].split() == folded([chunk])[0].split() + ["fire"] * 60
    assert folded([chunk, "Fire", chunk]) == [*folded([chunk]), "fire", *folded([chunk])]


def test_every_gap_ends_a_form_and_composes_with_nothing() -> None:
    gaps = [chr(code) for code in range(0x110000) if analyser_module._GAP.fullmatch(chr(code))]
    marks = [chr(code) for code in range(0x110000) if unicodedata.combining(chr(code))]
    assert len(gaps) > 1500 and len(marks) > 800
    assert all(folded([f"a{gap}b"]) == ["a b"] for gap in gaps)
    for form in ("NFC", "NFKC"):
        assert all(
            len(unicodedata.normalize(form, gap + mark)) >= 2 for gap in gaps for mark in [*marks[::7], "\u0338"]
        )


def test_a_run_without_a_gap_is_dropped_when_it_is_too_long() -> None:
    for run in ("x" * 257, "\ufdfa" * 257, "a" + "\u0301\u0323" * 128, "x" + "'s" * 128, "ก" * 300):
        assert ENGLISH.words(f"fire {run} smoke\u3000{run}\u3000rain") == ["fire", "smoke", "rain"]
    assert ENGLISH.words("x" + "'s" * 127) == ["x"]


@pytest.mark.parametrize(
    "piece",
    ["'s", "’", "x's", "\ufdfa", "\u0301\u0323", "é\u0323\u0301", "@a", "http://x", "https://", "@", "\u200d", "漢",
     "\xa0a", "😀b", "→c", "ア", "a'b ", "\ud800", "Ω", "ﷺ ", "\u1100", "ا\u064b\u0650", "\U0001d15e"],
)  # fmt: skip
def test_nothing_long_is_given_to_nfkc_without_a_gap(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is quadratic in the accents of a run."""
    longest = []

    def normalize(form: Literal["NFKC"], text: str) -> str:
        longest.append(max(map(len, analyser_module._GAP.sub("\n", text).replace(" ", "\n").split("\n"))))
        return unicodedata.normalize(form, text)

    monkeypatch.setattr(
        analyser_module, "unicodedata", SimpleNamespace(normalize=normalize, category=unicodedata.category)
    )
    ENGLISH.tokens("é " + piece * 2_000)
    assert longest and max(longest[::2]) <= MAX_RUN_CHARS  # every other one is of what NFKC has made of it


def test_apostrophes_at_the_end_are_however_many() -> None:
    assert folded(["boss's's", "'boss''", "boss's'", "'boss's''s''", "o'boss's", "''s", "'"]) == [
        "boss", "boss", "boss", "boss", "o'boss", "", ""
    ]  # fmt: skip


@given(
    st.text(st.characters(codec="utf-8"), max_size=30) | st.text("iIİ\u0307\u0301ßẞΣςﬁAa\u0345\n\ufdfa", max_size=20)
)
def test_folding_is_compatibility_composition_around_case_folding(text: str) -> None:
    alike = {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'", "\u0149": "'n", "\u0130": "i"}
    plain = "".join(alike.get(letter, letter) for letter in analyser_module._IGNORABLE.sub("", text))
    folded = unicodedata.normalize("NFKC", plain).casefold().replace("i\u0307", "i")
    expected = text.lower() if text.isascii() else unicodedata.normalize("NFKC", folded)
    assert fold(text) == expected
