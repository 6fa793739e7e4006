"""`agentpost dev`: its options; `agentpost.serving.development` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from agentpost.cli.commands import command


@command("dev", "agentpost dev", "agentpost dev shop.support:agent --port 9000")
def dev(
    agent: Annotated[
        str | None, typer.Argument(help="module:object; by default agent:agent.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Data folder; by default .agentpost in this folder.")
    ] = None,
) -> None:
    """Serve an agent and reload it on save.

    Running work restarts from its records with the new code. Code that cannot be imported is shown
    with its line, and the previous code keeps running until you fix it.
    """
    from agentpost.serving import development

    options = {"host": host, "port": port, "data_dir": data_dir}
    development.run(agent, {name: value for name, value in options.items() if value is not None})
