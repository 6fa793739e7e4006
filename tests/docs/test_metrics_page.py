"""The metrics that the page, the alert rules and the dashboard name are those of a server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentpost.operations.metrics import Metrics
from tests.harness.context import open_harness
from tests.house.tree import DOCS, ROOT

PAGE = DOCS / "metrics.md"
ALERTS = ROOT / "deploy/prometheus/alerts.yml"
DASHBOARD = ROOT / "deploy/grafana/agentpost.json"
NAME = re.compile(r"\b(?:agentpost|process)_[a-z0-9_]+")
ROW = re.compile(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) \|", re.M)
SEVERITIES = {"warning", "critical"}


@pytest.fixture
async def exposed(tmp_path: Path) -> dict[str, str]:
    """The kind of each metric, by name."""
    async with open_harness(tmp_path) as harness:
        text = (await Metrics(harness.ctx, lambda: True).text()).decode()
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> list[str]:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def metrics_in(expression: str) -> Iterator[str]:
    for name in NAME.findall(expression):
        yield name.removesuffix("_bucket") if "_seconds_bucket" in name else name


def balanced(expression: str) -> bool:
    """Whether every bracket is closed, in its order."""
    left = re.sub(r'"[^"]*"', "", expression)
    left = re.sub(r"[^()\[\]{}]", "", left)
    while (shorter := re.sub(r"\(\)|\[\]|{}", "", left)) != left:
        left = shorter
    return not left


async def test_the_page_has_every_metric(exposed: dict[str, str]) -> None:
    assert dict(ROW.findall(PAGE.read_text("utf-8"))) == exposed


async def test_rules_and_dashboard_name_metrics_that_there_are(exposed: dict[str, str]) -> None:
    expressions = [*(rule["expr"] for rule in rules()), *queries()]
    assert len(expressions) > 40
    assert {name for each in expressions for name in metrics_in(each)} - set(exposed) == set()
    assert [each for each in expressions if not balanced(each)] == []


def test_each_rule_says_what_happened_and_where_to_read_more() -> None:
    sections = dict(re.findall(r"^### (\w+)\n\n(.+)", PAGE.read_text("utf-8"), re.M))
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, rule
        assert rule["labels"]["severity"] in SEVERITIES, rule
        assert rule["annotations"]["summary"], rule
        anchor = rule["alert"].lower()
        assert rule["annotations"]["runbook"] == f"docs/metrics.md#{anchor}"
        assert rule["alert"] in sections
    alerts = [rule["alert"] for rule in rules()]
    assert len(alerts) == len(set(alerts))
    assert {name for name in sections if name.startswith("Agentpost")} == set(alerts)


def test_the_check_sees_an_open_bracket() -> None:
    assert balanced('sum(rate(a{b="("}[5m])) > 1')
    assert not balanced("sum(rate(a[5m]) > 1")
