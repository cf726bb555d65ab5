import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.model import TidingsError
from tidings.terms import Analyser, languages
from tidings.terms.analyser import chunks

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
