"""Toolsets that are as odd as MCP servers may be, and runs in which they are called.

Apart from their tests, since they derive from classes of pydantic-ai: importing it takes a second.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset
from pydantic_ai.usage import RunUsage

from agentpost.agents.llm import servers


class Odd(FunctionToolset[Any]):
    """A server with one tool, whose result or failure is given. ``is_down`` says of each time that
    it is opened, from 1, whether nobody listens; that is known when all runs have begun."""

    def __init__(self, given: Any = None, is_down: Callable[[int], bool] = lambda _: False) -> None:
        super().__init__()
        self.given, self.is_down, self.tries = given, is_down, 0
        self.add_function(self.find, takes_ctx=False, name="find")

    async def __aenter__(self) -> "Odd":
        self.tries += 1
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if self.is_down(self.tries):
            raise ConnectionError("nobody listens")
        return self

    def find(self) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


async def close() -> None:
    """Nothing is left of a session that was lost."""


def server_of(tools: AbstractToolset[Any], name: str, keys: Sequence[str] = ()) -> servers.Server:
    """A server whose tools are there already."""
    reach = servers.Reach(lambda: servers.Session(tools, close), keys)
    return servers.Server(reach.current(), name, reach)


def in_run() -> RunContext[Any]:
    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), max_retries=2)


async def called(server: servers.Server) -> Any:
    tools = await server.get_tools(in_run())
    return await server.call_tool("find", {}, in_run(), tools["find"])
