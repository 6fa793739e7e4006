"""`agentpost serve` and `dev`: their options; `agentpost.serving.process` does the work."""

import gc
from typing import Annotated

import typer

from agentpost.cli.commands import command
from agentpost.imports import import_without

Host = Annotated[str | None, typer.Option(help="Address to listen on.")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")]


@command("serve", "agentpost serve", "agentpost serve --port 9000 --agent my_module:agent")
def serve(
    host: Host = None,
    port: Port = None,
    agent: Annotated[
        str | None, typer.Option(help="'offline', 'module:object' or others (see docs/agents.md).")
    ] = None,
    data_dir: Annotated[str | None, typer.Option(help="Data folder.")] = None,
    agent_processes: Annotated[
        int | None,
        typer.Option(help="Processes for the agent's code; 0 runs it in the server's own."),
    ] = None,
    role: Annotated[str | None, typer.Option(help="all, api or worker.")] = None,
) -> None:
    """Start the server: API, agent and jobs in one process."""
    gc.disable()  # imports leave no garbage; to look for it would take an eighth of their time
    try:
        # Import libraries without those that they take along where they are installed: a server
        # shows tracebacks without rich, and has uvicorn watch no files. That is 6 MB of memory.
        for library, along in (("structlog", "rich"), ("uvicorn", "watchfiles")):
            import_without(library, along)
        from agentpost.serving import process
    finally:
        gc.enable()
    options = {
        "host": host,
        "port": port,
        "agent": agent,
        "data_dir": data_dir,
        "agent_processes": agent_processes,
        "role": role,
    }
    process.run({name: value for name, value in options.items() if value is not None})


@command("dev", "agentpost dev", "agentpost dev shop.support:agent --port 9000")
def dev(
    agent: Annotated[
        str | None, typer.Argument(help="module:object; by default agent:agent.")
    ] = None,
    host: Host = None,
    port: Port = None,
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
