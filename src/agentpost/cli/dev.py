"""`agentpost dev`: its options; `agentpost.cli.developing` does the work."""

from __future__ import annotations

from typing import Annotated, Final

import typer

EXAMPLES: Final = {
    "dev": """
        agentpost dev
        agentpost dev shop.support:agent --port 9000
    """,
}


def attach(app: typer.Typer) -> None:
    """Add the command."""
    app.command("dev")(dev)


def dev(
    agent: Annotated[
        str | None, typer.Argument(help="module:object; agent:agent unless given.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Data folder; .agentpost in the current one unless given.")
    ] = None,
) -> None:
    """Serve an agent and take it up again whenever its code is saved.

    Work that runs is repeated from its records with the new code. Code that cannot be imported is
    shown with the line at fault, and the agent of before stays until it can be.
    """
    from agentpost.cli import developing

    given = {"host": host, "port": port, "data_dir": data_dir}
    developing.run(agent, {name: value for name, value in given.items() if value is not None})
