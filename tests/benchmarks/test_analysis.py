import pyarrow as pa
import pytest

from benchmarks import analysis
from tidings.analysis.fast import FastAnalyser
from tidings.analysis.vocabulary import TermSets
from tidings.model import DataError


def test_both_analysers_are_measured_on_the_same_posts() -> None:
    steps: list[int] = []
    figures = analysis.measure(pa.chunked_array([["fire", None], ["smoke and fire"]]), steps.append)
    assert figures["posts"] == sum(steps) == 3
    assert figures["distinct_words"] == 2
    assert {"ratio_first_pass", "ratio_second_pass"} <= figures.keys()


def test_a_difference_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = FastAnalyser.analyse

    def forgetful(self: FastAnalyser, texts: pa.Array) -> TermSets:
        sets = honest(self, texts)
        return TermSets(sets.offsets.clip(max=1), sets.ids[:1])

    monkeypatch.setattr(FastAnalyser, "analyse", forgetful)
    with pytest.raises(DataError, match="differ on 'smoke'"):
        analysis.measure(pa.chunked_array([["fire", "smoke"]]))
