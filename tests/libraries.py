"""Libraries that take a second to import, for modules of which each test uses one.

A process that collects tests imports none of them: that would be a third of what collecting takes,
in each process of a run. With `from __future__ import annotations` they may stand in annotations.
"""

import importlib
from typing import TYPE_CHECKING, Any


class Later:
    """A module that is imported when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # as pytest asks of all that it finds in a module
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)


if TYPE_CHECKING:
    import av
    import docx
    import duckdb
    import mcp
    import openai
    import openpyxl
    import pptx
    from a2a import client as a2a_client
    from a2a.types import a2a_pb2
    from a2a.utils import errors as a2a_errors
    from pydantic_ai import messages as pydantic_messages

    from agentpost.doors.mcp import tools as mcp_tools
    from agentpost_offline.making.video import encoding
else:
    av = Later("av")
    docx = Later("docx")
    duckdb = Later("duckdb")
    encoding = Later("agentpost_offline.making.video.encoding")
    mcp = Later("mcp")
    mcp_tools = Later("agentpost.doors.mcp.tools")
    openai = Later("openai")
    openpyxl = Later("openpyxl")
    pptx = Later("pptx")
    a2a_client = Later("a2a.client")
    a2a_pb2 = Later("a2a.types.a2a_pb2")
    a2a_errors = Later("a2a.utils.errors")
    pydantic_messages = Later("pydantic_ai.messages")

__all__ = [
    "Later",
    "a2a_client",
    "a2a_errors",
    "a2a_pb2",
    "av",
    "docx",
    "duckdb",
    "encoding",
    "mcp",
    "mcp_tools",
    "openai",
    "openpyxl",
    "pptx",
    "pydantic_messages",
]
