import numpy as np
import pyarrow as pa
import pytest

from benchmarks.compare import Ratio, compared
from benchmarks.matching import Workload
from tidings.model import DataError

pytestmark = pytest.mark.thorough

POSTS = pa.table({"id": [f"p{i}" for i in range(40)], "text": ["fire and smoke", "rain"] * 20})
TINY = Workload("tiny", pa.table({"id": ["s"], "query": ["fire"]}), POSTS, POSTS, POSTS)


def test_noise_alone_gives_no_verdict() -> None:
    rng = np.random.default_rng(1)
    old, new = rng.lognormal(0, 0.5, 200), rng.lognormal(0, 0.5, 200)
    assert Ratio.of(old.tolist(), new.tolist()).verdict in ("as fast", "slower, or noise")
    assert Ratio.of(old.tolist(), (old * 1.2).tolist()).verdict == "slower"
    assert Ratio.of(old.tolist(), (old / 1.2).tolist()).verdict == "faster"


@pytest.mark.parametrize("figure", ["match", "publish", "opening"])
def test_the_files_as_they_are_can_be_measured(figure: str) -> None:
    found = compared(figure, TINY, (".", "."), rounds=2)
    assert found["ratio"] > 0 and found["old_s"] > 0 and found["verdict"]


def test_an_unknown_commit_is_an_error_in_one_line() -> None:
    with pytest.raises(DataError, match="there is no commit 'nonsense'"):
        compared("match", TINY, ("nonsense", "."), rounds=1)
