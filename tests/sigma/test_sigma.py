"""Sigma's rules as subscriptions: what they ask for, and all public rules on real events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.sigma_trees import tree_query
from tidings import Engine
from tidings.language import parse, to_text
from tidings.model import QueryError
from tidings.sigma import read_rules
from tidings.sigma.conditions import net_condition, number_condition, regex_condition, text_condition

RULE = r"""
title: A shell of the web server
id: 11111111-1111-1111-1111-111111111111
level: high
logsource: {category: process_creation, product: windows}
detection:
  selection:
    ParentImage|endswith: ['\w3wp.exe', '\nginx.exe']
    CommandLine|contains|all: ['whoami', ' /']
  filter:
    User|startswith: 'SYSTEM'
    Image: null
  number: {EventID: 4688}
  pattern: {CommandLine|re: 'who.mi\s'}
  net: {Ip|cidr: '10.0.0.0/8'}
  condition: selection and (number or pattern or net) and not filter
"""
KEYWORDS = "title: Words\nlogsource: {product: linux}\ndetection: {words: [fire, smoke], condition: words}\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules" / "windows"
    folder.mkdir(parents=True)
    (folder / "shell.yml").write_text(RULE)
    (folder / "words.yml").write_text(KEYWORDS)
    (folder / "broken.yaml").write_text("title: [")
    return tmp_path / "rules"


def test_a_rule_is_a_subscription_with_its_level_and_title(rules: Path) -> None:
    found = read_rules(rules)
    [row] = found.table.to_pylist()
    assert row["id"] == "11111111-1111-1111-1111-111111111111" and row["tag"] == "high: A shell of the web server"
    reasons = {rejected.id: rejected.reason for rejected in found.rejected}
    assert "keywords" in reasons["windows/words.yml"] and len(reasons) == 2
    engine = Engine()
    engine.subscribe_many(found.table)
    event = {"ParentImage": r"C:\W3WP.exe", "CommandLine": "cmd /c WhoAmI /all", "EventID": 4688}
    assert engine.publish(id="1", **event)  # type: ignore[arg-type]
    assert not engine.publish(id="2", **{**event, "EventID": 1})  # type: ignore[arg-type]
    assert engine.publish(id="3", **{**event, "EventID": 1, "Ip": "10.1.2.3"})  # type: ignore[arg-type]
    assert engine.publish(id="4", **{**event, "EventID": 1, "CommandLine": "c /c whoami /x"})  # type: ignore[arg-type]
    assert not engine.publish(id="5", **{**event, "User": "system 1"})  # type: ignore[arg-type]
    assert engine.publish(id="6", **{**event, "User": "system 1", "Image": "x"})  # type: ignore[arg-type]


def test_a_rule_asks_for_events_of_its_source_if_one_says_so(rules: Path) -> None:
    (rules / "rdp.yml").write_text(
        "title: From outside\nlogsource: {product: Zeek, service: rdp}\n"
        "detection: {inside: {Ip|cidr: '10.0.0.0/8'}, condition: not inside}\n"
    )
    assert len(read_rules(rules).table) == 1  # what only excludes is found by its source alone
    engine = Engine()
    assert engine.subscribe_many(read_rules(rules, sources=True).table).accepted == 2
    event: dict[str, Any] = {"ParentImage": r"C:\W3WP.exe", "CommandLine": "cmd /c WhoAmI /all", "EventID": 4688}
    windows = {"category": "process_creation", "product": "windows"}
    found = [
        sorted(match.tag for match in engine.publish(id=str(number), **event, logsource=source))
        for number, source in enumerate(
            [windows, {**windows, "product": "linux"}, {"product": "zeek", "service": "rdp"}]
        )
    ]
    assert found == [["high: A shell of the web server"], [], ["unknown: From outside"]]
    assert not engine.publish(id="9", **event)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (text_condition("f", ["a"]), 'f:i"a"'),
        (text_condition("f", ["a"], cased=True), "f:a"),
        (text_condition("f", [1]), "has:f"),
        (text_condition("f", [1, 1, "a", 1]), 'f:*i"a"*'),
        (text_condition("f", [1, 2, "a", 1, "b"]), 'f:?*i"a"*i"b"'),
        (number_condition("f", 5), "f:5"),
        (number_condition("f", 5, ">="), "f:>=5"),
        (regex_condition("f", "a", ["IGNORECASE"]), "f:/(?s:.*)(?:a)(?s:.*)/i"),
        (net_condition("f", "192.168.0.0/16"), "f:192.168.0.0/16"),
        (net_condition("cs-ip", "127.0.0.0/7"), "cs-ip:126.0.0.0/7"),
        (net_condition("f", "fe80::/10"), "f:fe80::/10"),
    ],
)
def test_a_condition_is_said_so(query: object, text: str) -> None:
    assert query == parse(text)


@pytest.mark.parametrize("bad", [lambda: net_condition("f", "x/8"), lambda: text_condition("f", ["a", 3])])
def test_what_cannot_be_said_is_refused(bad: object) -> None:
    with pytest.raises(QueryError):
        bad()  # type: ignore[operator]


@pytest.mark.slow
def test_all_public_rules_find_what_a_plain_evaluation_finds(data: Path) -> None:
    """The rules that compare two fields are those of process creations that cannot be said."""
    rules = pq.read_table(data / "sigma_rules.parquet").to_pylist()
    said: dict[str, str] = {}
    for rule in rules:
        try:
            text = to_text(tree_query(json.loads(rule["tree"])))
            parse(text)
        except QueryError:
            continue
        said[rule["id"]] = text
    assert len(said) >= 0.95 * len(rules)
    ids = [
        r["id"] for r in rules if r["category"] == "process_creation" and r["product"] == "windows" and r["id"] in said
    ]
    events = pq.read_table(data / "sigma_events.parquet")
    engine = Engine()
    assert not engine.subscribe_many(pa.table({"id": ids, "query": [said[name] for name in ids]})).rejected
    found = {(m.publication_id, m.subscription_id) for m in engine.match(events.drop_columns(["rules"]))}
    pairs = events.select(["id", "rules"]).to_pylist()
    assert found == {(row["id"], name) for row in pairs for name in row["rules"] if name in said}
