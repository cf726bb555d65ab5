"""The examples of docs/brokers.md are run."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broker.overlays import free_ports, quote
from tests.broker.test_server import play
from tidings.broker import BrokerClient
from tidings.broker.config import host_and_port

PAGE = (Path(__file__).parents[2] / "docs" / "brokers.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_example_of_the_page_prints_what_the_page_says() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    code, printed = found.groups()
    for number, port in enumerate(free_ports(2)):
        code = code.replace(f"127.0.0.1:700{number}", f"127.0.0.1:{port}")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout == printed, result.stderr


@pytest.mark.thorough
def test_the_brokers_of_the_page_start_and_pass_on_what_is_published(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    config, shell = found.groups()
    addresses = [f"127.0.0.1:{port}" for port in free_ports(3)]
    for number, address in enumerate(addresses):
        config = config.replace(f"127.0.0.1:700{number}", address)
    (tmp_path / "brokers.toml").write_text(config, encoding="utf-8")
    secret, *starts = shell.splitlines()
    subprocess.run(secret, shell=True, cwd=tmp_path, check=True)
    command = [sys.executable, "-c", "from tidings.cli.main import main; main()"]
    brokers = [subprocess.Popen([*command, *shlex.split(start)[1:-1]], cwd=tmp_path) for start in starts]
    try:
        play(passed_on(addresses, (tmp_path / "secret").read_bytes().strip()))
    finally:
        for broker in brokers:
            broker.terminate()
    assert [broker.wait(timeout=60) for broker in brokers] == [0, 0, 0]


async def passed_on(addresses: list[str], secret: bytes) -> None:
    """Something that is published at the first broker comes to a subscriber of the last one."""
    for address in addresses:
        await listens(address)
    async with (
        BrokerClient("exchange", addresses[0], secret) as exchange,
        BrokerClient("ada", addresses[2], secret) as ada,
    ):
        feed = await ada.subscribe("symbol:YHOO volume:>1000")
        first = asyncio.create_task(anext(feed))
        while not first.done():  # until the subscription has reached the first broker
            await exchange.publish(quote(500))
            await exchange.publish(quote(1500))
            await asyncio.sleep(0.1)
        assert (await first).id == "YHOO-1500"


async def listens(address: str) -> None:
    host, port = host_and_port(address)
    while True:
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
