"""Which of its own tools a model is offered: each one costs tokens in every call.

The schemas of all tools together have about 20 KB, more than a small model's context window.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic_ai import RunContext, Tool
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from agentpost.agents.adapters.conversing import RunInput

ALL: Final = "*"
"""In the setting: every tool whose extra is installed."""
_LEFT_OUT: Final = "agentpost_left_out"
_WRITING: Final = ("write_file", "run_code", "make_document")
"""The tools that need no file: a model may write the first one with them."""


def choose_tools(tools: Sequence[Tool[Any]], names: Sequence[str]) -> list[Tool[Any]]:
    """The tools that the setting names; raises `ValueError` for a name that none of them has."""
    if ALL in names:
        return list(tools)
    unknown = sorted({*names} - {tool.name for tool in tools})
    if unknown:
        there = ", ".join(tool.name for tool in tools)
        raise ValueError(f"AGENTPOST_LLM_TOOLS: there is no {', '.join(unknown)}, but {there}")
    return [tool for tool in tools if tool.name in names]


def when_useful(tool: Callable[..., Any] | Tool[Any]) -> Tool[Any]:
    """The tool, left out of a call of the model while there is no file that it could work on."""
    tool_ = tool if isinstance(tool, Tool) else Tool(tool)
    if tool_.name in _WRITING:
        return tool_
    return dataclasses.replace(tool_, prepare=_for_files)


def without_left_out(parameters: ModelRequestParameters) -> ModelRequestParameters:
    """What a call of the model sends. The tools are left out here, at the end: pydantic-ai tells
    the model in a message of every tool that it offers later than others."""
    tools = [tool for tool in parameters.function_tools if _LEFT_OUT not in (tool.metadata or {})]
    return dataclasses.replace(parameters, function_tools=tools)


async def _for_files(ctx: RunContext[RunInput], tool: ToolDefinition) -> ToolDefinition:
    """Whether there is a file is told by the run's input and by what the model has called since: a
    run that is repeated offers the same tools."""
    wrote = (
        isinstance(part, ToolCallPart) and part.tool_name in _WRITING
        for message in ctx.messages
        for part in message.parts
    )
    if ctx.deps.has_files or any(wrote):
        return tool
    return dataclasses.replace(tool, metadata={**(tool.metadata or {}), _LEFT_OUT: True})
