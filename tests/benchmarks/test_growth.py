from pathlib import Path

import pytest

from benchmarks import growth
from benchmarks.names import Name
from benchmarks.workloads import workload
from tidings.model import DataError


def test_sizes_end_where_they_are_told_to() -> None:
    assert growth.sizes(30_000) == [1_000, 3_000, 10_000, 30_000]
    with pytest.raises(DataError, match="begins with 1,000"):
        growth.sizes(999)


def test_each_size_is_a_row_of_the_columns_and_the_same_figures_give_the_same_picture(tmp_path: Path) -> None:
    figures = growth.grown(
        lambda count: workload(Name.words, None, count, 100, 2, made_up_rows=3_000), [20, 60], rounds=1
    )
    assert figures["subscriptions"] == [20, 60] and figures["posts"] == 100
    assert all(len(figures[name]) == 2 for name in ("posts_per_s", "bytes_per_subscription", "registered_s"))
    pictures = [tmp_path / "deep" / "a.svg", tmp_path / "b.svg"]
    for picture in pictures:
        growth.draw(figures, picture)
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert pictures[0].read_text(encoding="utf-8").count("<svg") == 1


def test_a_picture_of_another_kind_is_refused(tmp_path: Path) -> None:
    figures = {"subscriptions": [1], "posts_per_s": [1], "bytes_per_subscription": [1]}
    with pytest.raises(DataError, match=r"\.svg or a \.png"):
        growth.draw(figures, tmp_path / "growth.doc")
