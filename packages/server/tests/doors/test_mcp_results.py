"""What a tool takes, as its operation of the API; what its result says of a message, row by row;
and addresses of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentpost.api import openapi
from agentpost.api.app import OPERATIONS
from agentpost.domain.limits import MCP_TEXT_CHARACTERS_MAX
from tests.libraries import Later, mcp, mcp_tools

if TYPE_CHECKING:
    from agentpost.doors.mcp import files, results
else:
    files, results = Later("agentpost.doors.mcp.files"), Later("agentpost.doors.mcp.results")


def test_a_long_text_is_cut() -> None:
    message: dict[str, Any] = {
        "id": "msg_1", "status": "completed", "reason": None, "final": True, "question": None,
        "reply": "x" * (MCP_TEXT_CHARACTERS_MAX + 1), "jobs": [], "files": [], "notes": [],
        "credits_used": 0,
    }  # fmt: skip
    shown = results.summary(message)
    assert shown["reply"].startswith("x" * MCP_TEXT_CHARACTERS_MAX + "…")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"choices": ["Bar", "Line"]}, "Choices: Bar; Line"),
        ({"schema": {"type": "integer"}}, 'JSON for this schema: {"type": "integer"}'),
    ],
)
def test_a_question_says_what_its_answer_has_to_be(wanted: dict[str, Any], said: str) -> None:
    message: dict[str, Any] = {
        "id": "msg_1", "status": "needs_input", "reason": None, "final": True, "question": "Which?",
        "reply": "Which?", "jobs": [], "files": [], "notes": [], "credits_used": 0,
        "answer_format": wanted,
    }  # fmt: skip
    result = results.of_message(message)
    assert result.structured_content is not None
    assert result.structured_content["answer_format"] == wanted
    text = result.content[0]
    assert isinstance(text, mcp.types.TextContent)
    assert said in text.text


@pytest.mark.parametrize("file_id", ["wrk_1/a.txt", "wrk_1/ä b/%2F?#.txt", "wrk_1/a/b/c"])
def test_the_address_of_a_file_leads_back_to_it(file_id: str) -> None:
    uri = files.uri_of(file_id)
    assert uri.isascii()
    assert files.file_id_of(uri) == file_id


def test_other_addresses_are_of_no_file() -> None:
    assert files.file_id_of("file:///etc/passwd") is None


NAMES = ("get_work", "list_messages", "list_work", "recover_message", "stop_work")
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
    assert set(NAMES) == operations().keys() & mcp_tools.TOOLS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_takes_what_its_operation_takes(name: str) -> None:
    parameters = operations()[name]
    arguments = mcp_tools.TOOLS[name].model_json_schema()["properties"]
    assert arguments.keys() == parameters.keys() - LEFT_OUT.get(name, set())
    for each, schema in arguments.items():
        plain = next((part for part in schema.get("anyOf", ()) if part["type"] != "null"), schema)
        wanted = {key: parameters[each][key] for key in LIMITS if key in parameters[each]}
        assert {key: plain[key] for key in LIMITS if plain.get(key) is not None} == wanted
        if "pattern" in plain:
            assert plain["pattern"] == parameters[each]["pattern"]
