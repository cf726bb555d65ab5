import pytest

from tests.engine.fuzz_posts import run


@pytest.mark.thorough
def test_hostile_posts_are_matched_as_the_reference_says_or_refused() -> None:
    outcome = run(count=4_000, seed=7)
    assert outcome.failures == []
    assert outcome.posts > 3_500 and outcome.refused > 10 and outcome.matches > 500
    assert outcome.compared_with_the_reference > 20
