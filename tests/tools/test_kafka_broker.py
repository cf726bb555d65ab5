"""Does the Kafka broker of the tests end when it should, and only then?"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidings.model import DataError
from tools.kafka import Broker, install

SCRIPT = Path(__file__).parents[2] / "tools" / "kafka.py"


@pytest.fixture(scope="module", autouse=True)
def jars() -> None:
    if shutil.which("mvn") is None and not os.environ.get("CI"):
        pytest.skip("there is no mvn on PATH: a Kafka broker needs a JDK 17 and Maven")
    install()


def serves(servers: str) -> bool:
    host, port = servers.split(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


def ends(servers: str) -> bool:
    """Whether nobody serves there any more, before long."""
    for _ in range(300):
        if not serves(servers):
            return True
        time.sleep(0.1)
    return False


def started(*options: str) -> tuple[subprocess.Popen[str], str]:
    """The script as the shell would run it, and the address that it prints."""
    process = subprocess.Popen([sys.executable, str(SCRIPT), *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_a_broker_ends_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    process, servers = started("start", "--folder", str(tmp_path))
    with process:
        assert serves(servers)
        process.send_signal(signal.SIGKILL)
    assert ends(servers)


def test_a_broker_ends_when_its_time_is_up() -> None:
    process, servers = started("--for-s", "0.5")
    with process:
        assert process.wait(60) == 0
    assert servers.startswith("127.0.0.1:") and not serves(servers)


def test_a_broker_stops_and_starts_on_the_same_port(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    with broker:
        assert serves(broker.servers)
        with pytest.raises(DataError, match="runs already"):
            broker.start()
    assert not serves(broker.servers)
    with broker:
        assert serves(broker.servers)


def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with Broker(tmp_path / "first") as first:
        second = Broker(tmp_path / "second")
        second.port = first.port
        with pytest.raises(DataError, match="Address already in use"):
            second.start()
        assert serves(first.servers)


def test_what_is_installed_is_not_installed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (install() / "broker").is_dir()
    monkeypatch.setenv("TIDINGS_JARS", str(tmp_path / "jars"))
    with pytest.raises(DataError, match="apt install maven"):
        install()


def test_a_failed_installation_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pom.xml").write_text("<project>")
    monkeypatch.setenv("TIDINGS_JARS", str(tmp_path / "cache" / "jars"))
    with pytest.raises(DataError, match=r"Maven could not fetch Kafka"):
        install(tmp_path / "project")
    assert [file.name for file in (tmp_path / "cache").iterdir()] == ["jars.lock"]
