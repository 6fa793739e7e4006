"""The pages below /docs: complete, true to the description, and nothing loaded from elsewhere."""

import base64
import hashlib
import json
import re
from functools import cache
from typing import Any

import pytest

from agentpost.api import docs_pages
from agentpost.api.reference import Described, resources
from agentpost.contract.errors import CATALOGUE
from tests.house.tree import DOCS, document

Json = dict[str, Any]
BASE = "https://agent.example.com"


@cache
def description() -> Json:
    found: Json = json.loads(document(DOCS / "openapi.json"))
    return found


@cache
def page(name: str) -> str:
    if name == "errors":
        return docs_pages.errors(BASE).decode()
    return docs_pages.reference(description(), BASE).decode()


def operations() -> list[Described]:
    return [each for resource in resources(description()) for each in resource.operations]


def test_every_operation_is_on_the_page() -> None:
    named = {o["operationId"] for ops in description()["paths"].values() for o in ops.values()}
    assert {each.id for each in operations()} == named
    assert named <= set(re.findall(r'id="(\w+)"', page("reference")))


def test_every_code_and_reason_is_on_the_page() -> None:
    anchors = set(re.findall(r'id="([\w-]+)"', page("errors")))
    assert set(CATALOGUE) <= anchors
    for title, table in docs_pages.REASONS.items():
        first = title.replace("`", "").split()[0]
        assert {f"{first}-{name}" for name in table} <= anchors
    for words in ("Read <code>problems</code>:", "<code>AGENTPOST_EGRESS_ALLOW</code>"):
        assert words in page("errors")


@pytest.mark.parametrize("name", ["errors", "reference"])
def test_a_page_loads_nothing_and_runs_nothing(name: str) -> None:
    assert not re.search(r"<script|<link|<img|<iframe|@import|url\(| on\w+=| style=", page(name))
    assert "`" not in re.sub(r"<pre>.*?</pre>", "", page(name), flags=re.S)


@pytest.mark.parametrize("name", ["errors", "reference"])
def test_the_policy_allows_the_style_of_the_page(name: str) -> None:
    style = re.search(r"<style>(.*?)</style>", page(name), re.S)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in docs_pages.policy()


def test_the_examples_are_right() -> None:
    """What is shown to be sent and answered is what the description allows."""
    from openapi_schema_validator import OAS31Validator

    components = {"components": description()["components"]}
    described = {
        o["operationId"]: o for ops in description()["paths"].values() for o in ops.values()
    }
    for each in operations():
        operation = described[each.id]
        for example, part in (
            (each.example, operation["responses"][each.status]),
            (each.body_example, operation.get("requestBody", {})),
        ):
            content = part.get("content", {}).get("application/json")
            is_left_out = example is None and not part.get("required", True)
            if content is not None and not is_left_out:
                validator = OAS31Validator({**content["schema"], **components})
                wrong = [error.message for error in validator.iter_errors(example)]
                assert wrong == [], each.id


def test_a_call_is_a_command_that_can_be_pasted() -> None:
    calls = {each.id: each.curl for each in operations()}
    assert calls["createUpload"] == (
        'curl -s "$AGENTPOST_URL/v1/uploads" \\\n'
        '  -H "Authorization: Bearer $AGENTPOST_KEY" \\\n'
        """  -d '{"filename": "sales.csv", "size": 48213}'"""
    )
    assert calls["deleteWork"].startswith('curl -s -X DELETE "$AGENTPOST_URL/v1/work/chat_')
    assert calls["recoverMessage"].startswith("curl -s -X POST ")
