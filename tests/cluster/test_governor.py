"""What does a governor learn from a batch? Without a session."""

from __future__ import annotations

from pathlib import Path

from tidings.cluster import overload
from tidings.cluster.journal import Report
from tidings.cluster.notes import Notes
from tidings.cluster.overload import Governor, Overload
from tidings.cluster.pipeline_folder import PipelineFolder


def test_the_time_to_compile_is_no_time_of_a_batch(tmp_path: Path) -> None:
    home = PipelineFolder(tmp_path)
    Governor(home, Overload(delay_s=4.0)).learn(
        Report(0, 1, 10, 0, 0, 5_000.0), Notes((), ()), is_usual=True, excused_s=4.0
    )
    assert overload.GovernorState.read(home.overload).busy_s == 1.0
