from hypothesis import given

from tests.examples import examples
from tests.language.strategies import small_queries, writable_queries
from tidings.language import parse, to_text
from tidings.model import Query


@examples(500)
@given(writable_queries)
def test_reading_what_was_written_gives_the_same_tree(query: Query) -> None:
    assert parse(to_text(query)) == query


@examples(300)
@given(small_queries)
def test_writing_is_stable(query: Query) -> None:
    text = to_text(query)
    assert to_text(parse(text)) == text
