import pytest

from tidings.analysis import Analyser
from tidings.language import Conjunction, Sequence, normal_form, parse, parse_normal
from tidings.model import Not, Or, Query, QueryError, Range, Word

ANALYSER = Analyser()


def form(text: str) -> list[tuple[set[str], set[str]]]:
    def words(atoms: tuple[object, ...]) -> set[str]:
        return {" ".join(atom.words) for atom in atoms if isinstance(atom, Sequence)}

    return [(words(c.required), words(c.forbidden)) for c in normal_form(parse(text), ANALYSER)]


@pytest.mark.parametrize("text", ["fire", "(fire OR smoke) -drill x:>3", "fire OR (fire smoke)"])
def test_parsing_gives_the_normal_form_too(text: str) -> None:
    assert parse_normal(text, analyser=ANALYSER) == (parse(text), normal_form(parse(text), ANALYSER))


def test_and_is_multiplied_out_over_or() -> None:
    assert form("(a1 OR b1) (c1 OR d1)") == [
        ({"a1", "c1"}, set()),
        ({"a1", "d1"}, set()),
        ({"b1", "c1"}, set()),
        ({"b1", "d1"}, set()),
    ]


def test_negation_follows_de_morgan() -> None:
    assert form("a1 -(b1 OR c1)") == [({"a1"}, {"b1", "c1"})]
    assert form("a1 -(b1 c1)") == [({"a1"}, {"b1"}), ({"a1"}, {"c1"})]
    assert form("a1 -(-b1)") == [({"a1", "b1"}, set())]


def test_what_asks_for_more_than_another_alternative_is_dropped() -> None:
    assert form("fire OR (fire smoke)") == [({"fire"}, set())]
    assert form("(fire smoke) OR (smoke fire)") == [({"fire", "smoke"}, set())]


def test_contradictory_alternatives_are_dropped() -> None:
    assert form("(fire OR smoke) -fire") == [({"smoke"}, {"fire"})]


def test_stop_words_mean_nothing_wherever_they_stand() -> None:
    assert form("the fire -of") == [({"fire"}, set())]
    assert form("the OR fire") == [({"fire"}, set())]


def test_equal_words_are_one_atom() -> None:
    assert normal_form(parse("fires FIRE"), ANALYSER) == (Conjunction((Sequence(("fire",)),)),)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("price:[5 TO 5]", "price:5"),
        ("price:5..5.0", "price:5"),
        ("price:[-0.0 TO 0]", "price:0"),
        ("ts:[2020-01-01 TO 2020-01-01T00:00:00Z]", 'ts:"2020-01-01"'),
    ],
)
def test_a_range_of_one_value_is_an_equality(text: str, same: str) -> None:
    assert normal_form(parse(text), ANALYSER) == normal_form(parse(same), ANALYSER)


def test_a_range_of_a_float_that_is_several_whole_numbers_stays_one() -> None:
    large = 2.0**53
    assert normal_form(Range("n", large, large), ANALYSER) == (Conjunction((Range("n", large, large),)),)


def test_10000_conditions_are_taken_and_no_more() -> None:
    words: tuple[Query, ...] = tuple(Word(f"w{i}") for i in range(10_001))
    assert len(normal_form(Or(words[:10_000]), ANALYSER)) == 10_000
    with pytest.raises(QueryError, match="10,001 conditions"):
        normal_form(Or(words), ANALYSER)


def test_deep_trees_are_refused() -> None:
    query: Query = Word("fire")
    for _ in range(5000):
        query = Not(query)
    with pytest.raises(QueryError, match="nested deeper"):
        normal_form(query, ANALYSER)
