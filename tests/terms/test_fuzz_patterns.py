from tests.terms.fuzz_patterns import HARD, run


def test_hostile_patterns_are_refused_or_found_as_by_definition() -> None:
    outcome = run(count=1_500, seed=7)
    assert outcome.failures == []
    assert outcome.accepted > 300 and outcome.refused > 300 and outcome.compared > len(HARD)
