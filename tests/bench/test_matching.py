import pyarrow as pa
import pytest

from tidings.bench.matching import Workload, measure
from tidings.bench.names import Name
from tidings.bench.workloads import workload
from tidings.index import GuardIndex, Matches
from tidings.language import parse
from tidings.model import DataError


@pytest.mark.parametrize("name", list(Name))
def test_each_workload_asks_what_it_says_and_is_measured(name: Name) -> None:
    made = workload(name, None, subscriptions=60, posts=300, seed=2)
    assert made.subscriptions.num_rows == 60 and made.posts.num_rows == 300
    assert all(parse(query) for query in made.subscriptions["query"].to_pylist())
    steps: list[int] = []
    figures = measure(made, steps.append)
    assert sum(steps) == figures["posts"] == 300
    assert figures["posts_per_s"] > 0 and figures["subscriptions"] == 60  # type: ignore[operator]


def test_what_is_matched_was_not_what_subscriptions_came_from() -> None:
    made = workload(Name.words, None, subscriptions=10, posts=500, seed=2)
    parts = [set(part["id"].to_pylist()) for part in (made.sample, made.posts)]
    assert not parts[0] & parts[1]
    with pytest.raises(DataError, match="too few"):
        workload(Name.words, None, subscriptions=10, posts=300_000, seed=2)


def test_a_wrong_index_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = GuardIndex.match

    def forgetful(self: GuardIndex, table: pa.Table) -> Matches:
        found = honest(self, table)
        return Matches(found.rows[1:], found.ids[1:], found.counters)

    monkeypatch.setattr(GuardIndex, "match", forgetful)
    asked = pa.table({"id": ["s"], "query": ["fire"]})
    posts = pa.table({"id": ["a", "b"], "text": ["fire", "fire"]})
    with pytest.raises(DataError, match="differ"):
        measure(Workload("made up", asked, posts, posts))
