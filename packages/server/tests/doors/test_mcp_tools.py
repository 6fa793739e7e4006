"""A tool that is one operation of the API has its name and takes the same, within its limits."""

from __future__ import annotations

from typing import Any

import pytest

from agentpost.api import openapi
from agentpost.api.app import OPERATIONS
from agentpost.doors.mcp.tools import TOOLS

LEFT_OUT: dict[str, set[str]] = {
    "list_messages": {"status", "created_after", "created_before", "metadata"},
    "recover_message": {"max_credits"},
}
"""Filters, which an assistant has no need of, and what a person decides: how much work may cost."""
LIMITS = ("default", "maximum", "minimum")


def operations() -> dict[str, dict[str, Any]]:
    """Name of the tool -> the parameters of its operation, and the fields of its body."""
    document = openapi.document(OPERATIONS, "/")
    schemas = document["components"]["schemas"]
    takes: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        name = "".join(f"_{each.lower()}" if each.isupper() else each for each in operation.id)
        parts = (each for methods in document["paths"].values() for each in methods.values())
        (part,) = (each for each in parts if each["operationId"] == operation.id)
        takes[name] = {each["name"]: each["schema"] for each in part["parameters"]}
        if operation.body is not None:
            takes[name] |= schemas[operation.body.__name__]["properties"]
    return takes


def test_five_tools_are_one_operation() -> None:
    names = {"get_work", "list_messages", "list_work", "recover_message", "stop_work"}
    assert names == operations().keys() & TOOLS.keys()


@pytest.mark.parametrize("name", sorted(operations().keys() & TOOLS.keys()))
def test_a_tool_takes_what_its_operation_takes(name: str) -> None:
    parameters = operations()[name]
    arguments = TOOLS[name].arguments.model_json_schema()["properties"]
    assert arguments.keys() == parameters.keys() - LEFT_OUT.get(name, set())
    for each, schema in arguments.items():
        plain = next((part for part in schema.get("anyOf", ()) if part["type"] != "null"), schema)
        wanted = {key: parameters[each][key] for key in LIMITS if key in parameters[each]}
        assert {key: plain[key] for key in LIMITS if plain.get(key) is not None} == wanted
        if "pattern" in plain:
            assert plain["pattern"] == parameters[each]["pattern"]
