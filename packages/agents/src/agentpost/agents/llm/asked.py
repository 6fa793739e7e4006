"""What one run of the model is given beside its instructions: the date, and which result is wanted.

A caller's ``response_schema`` becomes the parameters of the tool with which the model ends its run.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic_ai import DeferredToolRequests, ModelRetry, StructuredDict, ToolOutput

from agentpost.agents import schemas
from agentpost.agents.adapters.conversing import RunInput

RESULT_TOOL: Final = "give_result"
_WRAPPED: Final = "value"
_REFERS_ELSEWHERE: Final = re.compile(r'"\$ref": "(?!#/\$defs/)')
"""In a schema as JSON: a reference to something else than a definition, which no provider
follows."""


def options(run_input: RunInput) -> Mapping[str, Any]:
    """The arguments of the agent's ``run`` for this message."""
    options_: dict[str, Any] = {"deps": run_input}
    if run_input.at:
        options_["instructions"] = today(run_input.at, run_input.zone)
    if run_input.schema is not None:
        options_["output_type"] = [_result(run_input.schema), DeferredToolRequests]
    return options_


def today(at: str, zone: str | None) -> str:
    """The date where the user is, else in UTC: ``at`` is when the message was sent. It has no time
    of day, so that a provider's cache of what it read lasts for the day."""
    there = datetime.fromisoformat(at).astimezone(ZoneInfo(zone) if zone else UTC)
    where = f"The user's time zone is {zone}." if zone else "The user's time zone is not known."
    return f"Today is {there:%A}, {there.day} {there:%B %Y}. {where}"


def _result(schema: dict[str, Any]) -> ToolOutput[Any]:
    """The tool that ends the run: a provider takes only objects as parameters."""
    description = (
        "Give the result that was asked for, when all of it is known. This ends your work."
    )
    parameters = schema
    if not _is_object(schema):
        inner = {name: part for name, part in schema.items() if name != "$defs"}
        parameters = {"type": "object", "properties": {_WRAPPED: inner}, "required": [_WRAPPED]}
        if "$defs" in schema:
            parameters["$defs"] = schema["$defs"]
    schema_text = json.dumps(schema, ensure_ascii=False)
    if schemas.is_recursive(schema) or _REFERS_ELSEWHERE.search(schema_text):
        description = f"{description} It has to fit this JSON Schema: {schema_text}"
        parameters = {"type": "object"}
        if not _is_object(schema):
            parameters |= {"properties": {_WRAPPED: {}}, "required": [_WRAPPED]}
    kind = StructuredDict(parameters, name=RESULT_TOOL)
    return ToolOutput(_make_result_tool(kind, schema), name=RESULT_TOOL, description=description)


def _make_result_tool(kind: type[dict[str, Any]], schema: dict[str, Any]) -> Callable[..., Any]:
    """What takes the parameters of that tool and gives the result."""

    async def give_result(result: dict[str, Any]) -> Any:
        value = result if _is_object(schema) else result.get(_WRAPPED)
        problems = await asyncio.to_thread(schemas.problems, schema, value)
        if problems:
            lines = "\n".join(f"{path}: {problem}" for path, problem in problems)
            raise ModelRetry(f"The result does not fit its schema:\n{lines}")
        return value

    give_result.__annotations__ = {"result": kind, "return": Any}
    return give_result


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object"
