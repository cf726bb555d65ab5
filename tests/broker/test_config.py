from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidings.broker import BrokerConfig, Limits, read_config
from tidings.cli.main import app
from tidings.model import DataError

FILE = """
name = "B1"
secret_file = "secret"
bandwidth_mbps = 8
[[cluster]]
name = "C0"
head = "B0"
edges = ["B1"]
[[cluster]]
name = "C1"
head = "B2"
edges = []
[addresses]
B0 = "127.0.0.1:7000"
B1 = "127.0.0.1:7001"
B2 = "[::1]:7002"
[limits]
subscribers = 7
[parameters]
press_samples = 9
"""


def written(folder: Path, text: str = FILE, secret: bytes = b"sixteen bytes it has\n") -> Path:
    (folder / "secret").write_bytes(secret)
    (folder / "brokers.toml").write_text(text)
    return folder / "brokers.toml"


def test_a_file_says_who_is_connected_to_whom(tmp_path: Path) -> None:
    config = read_config(written(tmp_path))
    assert isinstance(config, BrokerConfig) and config.secret == b"sixteen bytes it has"
    assert config.name == "B1" and read_config(tmp_path / "brokers.toml", "B2").name == "B2"
    assert config.limits.subscribers == 7 and config.parameters.press_samples == 9
    assert config.bandwidth_bytes_s == 1e6
    assert config.overlay.neighbours("B0") == ("B1", "B2") and config.overlay.called_by("B2") == ("B0",)
    assert config.overlay.place("B1").head == "B0"
    assert "secret" not in repr(config)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('name = "B1"', 'name = "B7"', "there is no broker 'B7'; there are: B0, B1, B2"),
        ("127.0.0.1:7001", "10.0.0.1:7001", "10.0.0.1:7001 is not on this machine, and nothing is encrypted"),
        ("127.0.0.1:7001", "7001", "an address is like 127.0.0.1:7001, got '7001'"),
        ('B1 = "127.0.0.1:7001"\n', "", "every broker has an address"),
        ('edges = ["B1"]', 'edges = ["B1", "B1"]', "every broker belongs to one cluster"),
        ("subscribers = 7", "subscribers = 0", "the limit subscribers is greater than 0, got 0"),
        ("subscribers = 7", "visitors = 7", "limits has no 'visitors'; there are: "),
        ("press_samples = 9", "press_samples = 0", "press_samples is greater than 0"),
        ("bandwidth_mbps = 8", "bandwidth_mbps = 0", "bandwidth_mbps is greater than 0"),
        ('secret_file = "secret"', "", "it lacks 'secret_file'"),
        ('secret_file = "secret"', 'secret_file = "none"', "there is no file"),
        ("[[cluster]]", "[[cluster", "this is no TOML"),
    ],
)
def test_a_file_that_is_no_good_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in FILE
    with pytest.raises(DataError) as caught:
        read_config(written(tmp_path, FILE.replace(old, new, 1)))
    assert problem in str(caught.value)


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least 16 bytes, got 5"):
        read_config(written(tmp_path, secret=b"short"))


def test_limits_have_to_be_limits() -> None:
    with pytest.raises(DataError, match="handshake_s is greater than 0"):
        Limits(handshake_s=-1.0)


def test_the_command_says_what_is_wrong_with_its_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["broker", "--config", str(tmp_path / "absent.toml")])
    assert isinstance(result.exception, DataError) and "absent.toml" in str(result.exception)
    assert "Example: tidings broker" in CliRunner().invoke(app, ["broker", "--help"]).stdout
