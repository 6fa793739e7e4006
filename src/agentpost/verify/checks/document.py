"""The machine-readable description (spec: Versioning 1). Where it is served is up to agentpost."""

from __future__ import annotations

from agentpost.verify.check import ADDITION, Check, Group
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import Probe
from agentpost.verify.verdicts import Json, NotChecked, expect_status, require

OPERATIONS = (
    ("post", "/v1/messages"),
    ("get", "/v1/messages/{}"),
    ("get", "/v1/messages/{}/events"),
    ("post", "/v1/messages/{}/recover"),
    ("post", "/v1/uploads"),
    ("post", "/v1/uploads/{}/complete"),
    ("get", "/v1/work"),
    ("get", "/v1/work/{}"),
    ("get", "/v1/files/{}"),
    ("get", "/v1/me"),
    ("get", "/v1/webhooks"),
    ("post", "/v1/webhooks"),
    ("get", "/v1/webhooks/{}"),
    ("patch", "/v1/webhooks/{}"),
    ("delete", "/v1/webhooks/{}"),
    ("post", "/v1/webhooks/{}/rotate-secret"),
)


def served(probe: Probe) -> Exchange:
    """The document."""

    def make() -> Exchange:
        exchange = probe.caller.fetch(f"{probe.caller.url}/openapi.json")
        if exchange.status == 404:
            raise NotChecked("this deployment serves no /openapi.json")
        return exchange

    return probe.sample("OpenAPI document", make)


def version(probe: Probe) -> None:
    reported = _document(probe).get("info", {}).get("version")
    require(served(probe), reported == "1.0.0", "version 1.0.0", reported)


def operations(probe: Probe) -> None:
    described = {
        (method, _route(path))
        for path, methods in _document(probe).get("paths", {}).items()
        for method in methods
    }
    missing = [f"{method} {path}" for method, path in OPERATIONS if (method, path) not in described]
    require(served(probe), not missing, "every operation to be described", missing)


def _document(probe: Probe) -> Json:
    return expect_status(served(probe), 200)


def _route(path: str) -> str:
    """With nameless parameters."""
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


GROUP = Group(
    "document",
    "the description of the API",
    (
        Check("version", "The description is served and has version 1.0.0.", ADDITION, version),
        Check("operations", "It describes every operation.", ADDITION, operations),
    ),
)  # fmt: skip
