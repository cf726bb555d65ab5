"""Does an engine that was away for longer than the registry remembers find what lives now?"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tidings.engine import Engine
from tidings.registry import History, Registry


def changed(path: Path) -> dict[str, int]:
    """Let many changes happen, of which none is remembered; returns the versions of what lives."""
    registry = Registry(path, history=History(versions=1))
    registry.add(pa.table({"id": ["replaced", "new"], "query": ["smoke", "fire"]}))
    registry.remove(["gone", "unknown"])
    registry.add(pa.table({"id": ["back"], "query": ["fire"]}))
    registry.remove(["back"])
    last = registry.add(pa.table({"id": ["back", "later"], "query": ["fire rain", "fire"]})).version
    registry.tidy(grace_s=0)
    assert registry.horizon > 4
    return {row["id"]: row["query_version"] for row in registry.snapshot().to_pylist()} | {"later": last}


def found(engine: Engine) -> dict[str, int]:
    posts = pa.table({"id": ["p1", "p2"], "text": ["fire rain", "smoke"]})
    rows = engine.match(posts).text().to_pylist()
    assert len(rows) == len({row["subscription_id"] for row in rows})
    return {row["subscription_id"]: row["query_version"] for row in rows}


def filled(path: Path, others: int) -> Engine:
    engine = Engine(path)
    names = ["kept", "replaced", "gone", "back", *(f"o{number}" for number in range(others))]
    engine.subscribe_many(pa.table({"id": names, "query": ["fire"] * 4 + ["hail"] * others}))
    return engine


@pytest.mark.parametrize("others", [0, 1500], ids=["few", "many"])
@pytest.mark.parametrize("is_open", [True, False])
def test_an_engine_that_missed_the_history_has_what_lives(
    tmp_path: Path, others: int, is_open: bool, caplog: pytest.LogCaptureFixture
) -> None:
    engine = filled(tmp_path, others)
    if not is_open:
        engine.close()
    expected = changed(tmp_path)
    if is_open:
        engine.refresh()
    else:
        engine = Engine(tmp_path)
    living = {name: version for name, version in expected.items() if not name.startswith("o")}
    assert found(engine) == living and set(living) == {"kept", "replaced", "new", "back", "later"}
    assert len(engine) == 5 + others and all(name in engine for name in expected)
    engine.close()
    with Engine(tmp_path) as again:
        assert found(again) == living
    assert not caplog.text
