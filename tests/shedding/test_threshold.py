"""Where copies of all posts compete, are those kept that weigh most, as many as there should be?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.shedding.test_shedder import FILED, RATES, lists, routed_of, routes, weights
from tidings.model import DataError
from tidings.shedding import Floor, Routed, Threshold, graded

FLOORS = st.builds(Floor, st.integers(-1, 25), st.floats(0, 1))
THRESHOLD = Threshold(FILED)


def grade(weight: int) -> int:
    return math.floor(4 * math.log2(1 + weight))


@examples(80)
@given(routed=routes(), floor=FLOORS)
def test_all_above_the_floor_are_kept_and_none_below_it(routed: Routed, floor: Floor) -> None:
    result = THRESHOLD.shed(routed, floor, RATES)
    spared = 0
    for own, kept in zip(weights("subscription", routed), lists(result.kept), strict=True):
        assert {matcher for matcher, weight in own.items() if grade(weight) > floor.grade} <= set(kept)
        assert set(kept) <= {matcher for matcher, weight in own.items() if grade(weight) >= floor.grade}
        spared += len(own) - len(kept)
    assert result.copies.sum() == spared and (spared > 0) == (result.posts_cut > 0)


@examples(60)
@given(routed=routes())
def test_grades_are_those_of_all_copies(routed: Routed) -> None:
    expected = Counter(grade(weight) for own in weights("subscription", routed) for weight in own.values())
    assert THRESHOLD.grades(routed) == expected


@examples(60)
@given(routed=routes(), floor=FLOORS, data=st.data())
def test_a_copy_is_decided_by_itself(routed: Routed, floor: Floor, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(routed))))
    terms, offsets = routed.terms.ids.tolist(), routed.terms.offsets
    posts = [
        list(zip(terms[start:end], routed.owners[start:end].tolist(), strict=True))
        for start, end in ((offsets[row], offsets[row + 1]) for row in order)
    ]
    other = replace(routed_of(posts, routed.matchers), keys=routed.keys[np.array(order, dtype=np.int64)])
    kept = lists(THRESHOLD.shed(routed, floor, RATES).kept)
    assert lists(THRESHOLD.shed(other, floor, RATES).kept) == [kept[row] for row in order]


@examples(60)
@given(
    grades=st.dictionaries(st.integers(0, 40), st.integers(1, 50)),
    fractions=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_a_floor_leaves_its_fraction_and_a_lower_fraction_a_part_of_it(
    grades: dict[int, int], fractions: tuple[float, float]
) -> None:
    def left(floor: Floor) -> dict[int, float]:
        return {own: n * ((own > floor.grade) + (own == floor.grade) * floor.chance) for own, n in grades.items()}

    few, many = (left(Floor.of(grades, fraction)) for fraction in sorted(fractions))
    assert sum(few.values()) == pytest.approx(min(fractions) * sum(grades.values()), abs=1e-6)
    assert all(few[own] <= many[own] + 1e-6 for own in grades)


def test_of_those_on_the_floor_that_share_is_kept() -> None:
    posts = routed_of([[(5, matcher) for matcher in range(4)]] * 5_000, 4)
    kept = THRESHOLD.shed(posts, Floor(grade(5), 0.3), RATES).kept.sizes()
    assert kept.mean() == pytest.approx(1.2, abs=0.05) and set(kept.tolist()) == {0, 1, 2, 3, 4}
    assert THRESHOLD.shed(posts, Floor(grade(5), 1.0), RATES).copies.sum() == 0
    assert THRESHOLD.shed(posts, Floor(grade(5), 0.0), RATES).posts_dropped == 5_000


def test_grades_of_posts_are_those_of_copies() -> None:
    weights = np.arange(5_000)
    assert graded(weights.astype(np.float64)).tolist() == [grade(int(weight)) for weight in weights]


def test_a_term_without_a_number_is_told() -> None:
    with pytest.raises(DataError, match="a post has term 11"):
        Threshold(FILED[:5]).grades(routed_of([[(11, 0)]], 2))
