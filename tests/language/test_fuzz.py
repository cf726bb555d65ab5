from tests.language.fuzz import run


def test_no_input_raises_anything_but_query_error() -> None:
    outcome = run(count=8_000, seed=7)
    assert outcome.failures == []
    assert outcome.accepted > 500 and outcome.refused > 500
