import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.language import Sequence, normal_form, parse
from tidings.language.plain import PlainWords, plain_queries
from tidings.model import And, QueryError, Word

EXACT = Analyser()
FAST = FastAnalyser()

_words = st.sampled_from(
    ["fire", "Fires", "SMOKE", "the", "The", "or", "OR", "Or", "not", "NOT", "and", "AND", "And", "rt", "http", "19",
     "a", "x" * 64, "x" * 65, "é", "don't", "-drill", "ter*", "a:b", "", " ", "\n", "白", "TO", "covid-19", "orange"]
)  # fmt: skip
_queries = st.lists(_words, max_size=6).map(" ".join)


@examples(800)
@given(st.lists(st.one_of(_queries, st.text(max_size=12)), min_size=1, max_size=4))
def test_the_plain_way_gives_exactly_what_the_parser_gives(queries: list[str]) -> None:
    encodable = [query.encode("utf-8", "replace").decode() for query in queries]
    found = plain_queries(pa.array(encodable), FAST)
    singly = PlainWords(EXACT)
    for row, query in [*enumerate(encodable)] * 2:  # the second time, its words are remembered
        expected = [FAST.vocabulary[i] for i in found.words.row(row)] if found.is_plain[row] else None
        assert singly.read(query) == expected
    for row, query in enumerate(encodable):
        if not found.is_plain[row]:
            continue
        [conjunction] = normal_form(parse(query), EXACT)
        assert conjunction.forbidden == ()
        assert conjunction.required == tuple(Sequence((FAST.vocabulary[i],)) for i in found.words.row(row))


@examples(300)
@given(_queries)
def test_plain_words_are_not_left_to_the_parser(query: str) -> None:
    try:
        tree = parse(query)
    except QueryError:
        return
    atoms = tree.children if isinstance(tree, And) else (tree,)
    ascii_words = all(isinstance(atom, Word) and atom.text.isascii() and atom.text.isalnum() for atom in atoms)
    if (
        ascii_words
        and query == " ".join(query.split())
        and "AND" not in query
        and len(max(query.split(), key=len)) <= 64
    ):
        assert plain_queries(pa.array([query]), FAST).is_plain[0]


def test_long_and_null_queries_are_left_to_the_parser() -> None:
    found = plain_queries(pa.chunked_array([["fire", None], ["fire " * 500 + "x"]]), FAST)
    assert found.is_plain.tolist() == [True, False, False]
    assert len(plain_queries(pa.array([], pa.string()), FAST).is_plain) == 0
    singly = PlainWords(EXACT)
    assert singly.read("fire x") == ["fire", "x"] and singly.read("fire " * 500 + "x") is None
