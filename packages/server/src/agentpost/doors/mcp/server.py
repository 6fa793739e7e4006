"""The server of the protocol: the SDK's, with our tools and files."""

import logging
from typing import Any, Final

import mcp.types as mcp
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from agentpost.doors.mcp import files, tools
from agentpost.doors.mcp.backend import Backend, BackendError
from agentpost.version import __version__

_NEWEST_WORKS: Final = 5
_NOT_FOUND: Final = mcp.INVALID_PARAMS
INSTRUCTIONS: Final = (
    "Hand work to the agent with send_message. Work that takes longer continues after the call: ask"
    " for it with follow_message until `final` is true. A message with the status needs_input asks"
    " something: get the answer from the person and call answer_question. Results have files as"
    " resource links; read them with resources/read."
)
Context = ServerRequestContext[Any, Any]

logging.getLogger("mcp").setLevel(logging.WARNING)  # a line for each request says nothing new


def build(backend: Backend) -> Server[Any]:
    """A server whose tools work at that backend."""

    async def list_tools(_: Context, __: mcp.PaginatedRequestParams | None) -> mcp.ListToolsResult:
        return mcp.ListToolsResult(tools=tools.list_tools())

    async def call_tool(ctx: Context, params: mcp.CallToolRequestParams) -> mcp.CallToolResult:
        async def tell(count: float, what: str) -> None:
            await ctx.session.report_progress(count, None, what)

        return await tools.call(backend, params.name, params.arguments or {}, tell)

    async def list_resources(
        _: Context, __: mcp.PaginatedRequestParams | None
    ) -> mcp.ListResourcesResult:
        try:
            return mcp.ListResourcesResult(resources=await files.list_files(backend, _NEWEST_WORKS))
        except BackendError as error:
            raise _protocol_error(error) from None

    async def list_templates(
        _: Context, __: mcp.PaginatedRequestParams | None
    ) -> mcp.ListResourceTemplatesResult:
        template = mcp.ResourceTemplate(
            name="file",
            title="A file that work has made",
            uri_template=files.TEMPLATE,
            description="Results of tools name the files.",
        )
        return mcp.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        _: Context, params: mcp.ReadResourceRequestParams
    ) -> mcp.ReadResourceResult:
        try:
            return mcp.ReadResourceResult(contents=[await files.contents(backend, str(params.uri))])
        except BackendError as error:
            raise _protocol_error(error) from None

    return Server(
        "agentpost",
        version=__version__,
        title="agentpost",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def code_of(error: BackendError) -> int:
    """The protocol's number for a refusal outside of a tool."""
    return mcp.INTERNAL_ERROR if error.code in ("internal", "unavailable") else _NOT_FOUND


def _protocol_error(error: BackendError) -> MCPError:
    return MCPError(code_of(error), str(error), {"error": error.code, "advice": error.advice})
