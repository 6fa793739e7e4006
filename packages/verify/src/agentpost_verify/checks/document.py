"""The machine-readable description (spec: Versioning 1). Where it is served is up to agentpost."""

import re

import pytest

from agentpost_verify.answers import Exchange
from agentpost_verify.probe import Probe

OPERATIONS = """
    post /v1/messages, get /v1/messages/{}, get /v1/messages/{}/events,
    post /v1/messages/{}/recover, post /v1/uploads, post /v1/uploads/{}/complete, get /v1/work,
    get /v1/work/{}, get /v1/files/{}, get /v1/me, get /v1/webhooks, post /v1/webhooks,
    get /v1/webhooks/{}, patch /v1/webhooks/{}, delete /v1/webhooks/{},
    post /v1/webhooks/{}/rotate-secret
"""


@pytest.fixture(scope="session")
def document(probe: Probe) -> Exchange:
    """The OpenAPI document."""
    exchange = probe.fetch(f"{probe.url}/openapi.json")
    if exchange.status == 404:
        pytest.skip("this deployment serves no /openapi.json")
    return exchange


def test_version(document: Exchange) -> None:
    """The description is served and has version 1.0.0. (addition)"""
    version = document.expect("200").get("info", {}).get("version")
    assert version == "1.0.0", "version 1.0.0"


def test_operations(document: Exchange) -> None:
    """It describes every operation. (addition)"""
    paths = document.expect("200").get("paths", {})
    nameless = {path: re.sub("{.*?}", "{}", path) for path in paths}
    described = {f"{method} {nameless[path]}" for path in paths for method in paths[path]}
    missing = [each for each in map(str.strip, OPERATIONS.split(",")) if each not in described]
    assert missing == [], "every operation to be described"
