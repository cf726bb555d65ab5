import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidings.cli.main import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Tidings = Callable[..., Ran]


@pytest.fixture
def tidings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tidings:
    """The command as the shell would run it, but in this process."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["tidings", *map(str, arguments)])
        with pytest.raises(SystemExit) as leaving:
            main()
        return Ran(int(leaving.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    """Five posts; the third has an impossible place."""
    table = pa.table(
        {
            "id": ["p1", "p2", "p3", "p4", "p5"],
            "text": ["Fire in the harbour", "A fire drill", "Fire", "Smoke, much smoke", "Nothing"],
            "lat": [None, None, 95.0, -33.9, None],
            "lon": [None, None, 0.0, 151.2, None],
            "likes": [1, 20, 30, 40, None],
        }
    )
    pq.write_table(table, tmp_path / "posts.parquet")
    return tmp_path / "posts.parquet"


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Three subscriptions; the second cannot be read."""
    table = pa.table(
        {"id": ["s1", "s2", "s3"], "query": ["fire -drill", "fire OR", "likes:>=20"], "tag": ["a", "", ""]}
    )
    pq.write_table(table, tmp_path / "asked.parquet")
    return tmp_path / "asked.parquet"
