"""`agentpost mcp`: the tools for an assistant, over standard input and output.

It talks to a server as the other commands of a caller do.
"""

from agentpost.cli import exits
from agentpost.cli.commands import command
from agentpost.cli.connection import errors_told, resolve
from agentpost.cli.errors import fail, say
from agentpost.cli.options import ProfileName


@command("mcp", "agentpost mcp", "agentpost mcp --profile work")
def mcp(profile: ProfileName = None) -> None:
    """Connect an assistant to a server, over stdio (Model Context Protocol).

    The assistant starts this command; standard output is the protocol.
    """
    import asyncio

    from agentpost.extras import MissingExtra, require

    try:
        require("mcp", "`agentpost mcp` speaks the Model Context Protocol")
    except MissingExtra as problem:
        fail(str(problem), exits.NO_ANSWER)
    server = resolve(profile)
    try:
        with errors_told(server):
            asyncio.run(_serve(server.url, server.key))
    except KeyboardInterrupt:
        say("stopped; the agent continues with sent messages")


async def _serve(url: str, key: str) -> None:
    from mcp.server.stdio import stdio_server

    from agentpost.doors.mcp.remote import HttpBackend
    from agentpost.doors.mcp.server import build

    backend = HttpBackend(url, key)
    server = build(backend)
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        await backend.aclose()
