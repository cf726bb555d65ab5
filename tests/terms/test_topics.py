"""Does the tree of topics find what a walk over all paths finds?"""

from hypothesis import given
from hypothesis import strategies as st

from tidings.language.atoms import is_below
from tidings.terms.kinds.topics import TopicTerms

_PATHS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=5).map(tuple)


@given(st.lists(_PATHS, max_size=12, unique=True), _PATHS)
def test_a_topic_has_the_terms_of_all_paths_above_it(paths: list[tuple[str, ...]], topic: tuple[str, ...]) -> None:
    terms = TopicTerms()
    for term, path in enumerate(paths):
        terms.put(path, term)
    found = terms.above("/".join(topic))
    assert sorted(found) == [term for term, path in enumerate(paths) if is_below(topic, path)]


def test_a_topic_is_read_no_deeper_than_anybody_asks() -> None:
    terms = TopicTerms()
    terms.put(("a", "b"), 7)
    split = str.split
    steps = []

    class Topic(str):
        __slots__ = ()

        def split(self, separator: str, most: int) -> list[str]:  # type: ignore[override]
            steps.extend(split(self, separator, most))
            return split(self, separator, most)

    assert terms.above(Topic("a/b" + "/c" * 100_000)) == [7] and len(steps) == 3
