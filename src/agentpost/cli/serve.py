"""`agentpost serve`: the server on a socket."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import signal
import socket
import sys
from collections.abc import Coroutine, Iterator
from typing import Annotated, Any

import typer
import uvicorn
from pydantic import ValidationError

from agentpost.agents.registry import UnknownAgent
from agentpost.api.connection import Connection
from agentpost.bootstrap import Server
from agentpost.cli.welcome import welcome
from agentpost.db.session import DatabaseBusy
from agentpost.observability import logging
from agentpost.settings import Settings, load_settings

SWITCH_SECONDS = 0.0005
"""How long a busy thread keeps the interpreter: with the default 5 ms a writer beside a busy loop
waits 20 ms for its turn."""
KEEP_ALIVE_SECONDS = 75
STOP_SECONDS = 10
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Uvicorn(uvicorn.Server):
    """Answers held waits before it closes its connections, instead of cancelling them."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self._agentpost = server

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server.shutdown`."""
        self._agentpost.close_door()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop when asked to. uvicorn's own raises the signal again when the socket is closed,
        which would end the process before the rest of the server has stopped."""
        before = {sig: signal.signal(sig, self.handle_exit) for sig in STOP_SIGNALS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def attach(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    agent: Annotated[
        str | None, typer.Option(help="'offline' or 'module:object' (see docs/agents.md).")
    ] = None,
    data_dir: Annotated[str | None, typer.Option(help="Data folder.")] = None,
    role: Annotated[str | None, typer.Option(help="all, api or worker.")] = None,
) -> None:
    """Start the server: API, agent and jobs in one process."""
    given = {"host": host, "port": port, "agent": agent, "data_dir": data_dir, "role": role}
    try:
        settings = load_settings(**{k: v for k, v in given.items() if v is not None})
        listening = _listen(settings)
        if settings.port == 0:
            settings = settings.model_copy(update={"port": listening.getsockname()[1]})
        logging.configure(settings.log_format, settings.log_level)
        _raise_file_limit()
        sys.setswitchinterval(SWITCH_SECONDS)
        _run(_serve(settings, listening))
    except (DatabaseBusy, UnknownAgent, FileNotFoundError, ValueError, OSError) as error:
        _complain(error)
        raise typer.Exit(1) from None


def _complain(error: Exception) -> None:
    """One clear sentence instead of a traceback; settings are named as they are set."""
    if isinstance(error, ValidationError):
        for problem in error.errors(include_url=False, include_input=False):
            name = "AGENTPOST_" + "_".join(str(part) for part in problem["loc"]).upper()
            print(f"agentpost: {name}: {problem['msg']}", file=sys.stderr)
    else:
        print(f"agentpost: {error}", file=sys.stderr)


def _run(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


async def _serve(settings: Settings, listening: socket.socket) -> None:
    server = Server(settings)
    await server.start()
    config = uvicorn.Config(
        server.app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http=Connection,
        ws="none",
        server_header=False,
        proxy_headers=False,  # nothing here depends on the client's address
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=4096,
    )
    # What start-up made stays for good: collecting it again and again would only cost time.
    gc.collect()
    gc.freeze()
    print(welcome(server, settings), flush=True)
    # uvicorn raises the signal that ended it once more, for the handlers from before: with the
    # system's own we would be gone before anything was brought to an end.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: None)
    try:
        await _Uvicorn(config, server).serve(sockets=[listening])
    finally:
        await server.stop()


def _listen(settings: Settings) -> socket.socket:
    """The socket, bound but not listening yet: an address in use is told before all else."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise OSError(
            f"cannot listen on {settings.host}:{settings.port} ({error.strerror})."
            " Is another server running there? Choose another with --port."
        ) from None
    return listening


def _raise_file_limit() -> None:
    """Every held wait is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else 1_048_576
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # some systems cap it lower than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
