"""The server on a socket: what `agentpost serve` does."""

import asyncio
import contextlib
import gc
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from types import FrameType
from typing import Any, Final, Protocol, cast

import structlog
import typer
import uvicorn
from pydantic import ValidationError
from uvicorn.server import ServerState

from agentpost.agents.registry import UnknownAgent
from agentpost.author import output
from agentpost.cli import streams
from agentpost.cli.context import complain, database_fault
from agentpost.cli.errors import say
from agentpost.clock import Clock, SystemClock
from agentpost.db.session import DatabaseBusy
from agentpost.domain.errors import StoreUnavailable
from agentpost.domain.times import SECOND
from agentpost.http.arrivals import Arrivals
from agentpost.http.connection import Connection
from agentpost.http.connections import Connections
from agentpost.observability import logging
from agentpost.server import Server, start
from agentpost.serving.checks import problems, warnings
from agentpost.serving.welcome import welcome
from agentpost.settings import Settings, load_settings

log = structlog.get_logger(__name__)
_SWITCH_SECONDS = 0.0005
"""How long a busy thread keeps the interpreter: with the default 5 ms a writer beside a busy loop
waits 20 ms for its turn."""
_KEEP_ALIVE_SECONDS = 75
_STOP_SECONDS = 10
_CLOSE = (b"connection", b"close")
_LEAVE_SECONDS = 2.0
"""For the threads that are still in a call when everything has ended, such as one to a store that
does not answer. Nothing waits for their results any more, but the interpreter would."""
_ECHO_SECONDS = 0.5
"""One Ctrl-C may reach us twice: from the terminal, and from the program that started us."""
_TURNED_AWAY_PART = 16
_TURNED_AWAY_MIN = 64
_TURNED_AWAY_MAX = 1_024
"""Connections that are turned away and still open: a sixteenth of all others, within these bounds.
They take of the files that are kept."""
_FILES_KEPT_MIN = 128
_FILES_KEPT_MAX = 2_000
"""Of the open files the process may have, those for all that is no connection of a client: a
quarter, within these bounds."""
_BACKLOG = 4_096
"""Connections that the kernel lets wait to be accepted, if it is not set to fewer."""
_ACCEPTED = 8
"""How many are accepted in one turn of the loop: libuv accepts one for each socket, so there are as
many for the one port. With one, whatever else the loop has to do holds up those that wait."""
_YOUNG_OBJECTS_MAX = 5_000
"""After so many new objects the garbage collector looks at the young ones, which holds the event
loop: for 20,000 of them 5 ms. A request and a turn leave it nothing, but dozens at once have more
than the usual 700: to look at those again and again took 4 % of the CPU time of an echo."""
_Headers = list[tuple[bytes, bytes]]
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class DatedState(ServerState):
    """What uvicorn's connections share: the headers of every answer, with the date of the moment
    they are asked for. uvicorn makes them every second, whether or not they are asked for: for a
    server without work that is a wake-up too many."""

    def __init__(self, config: uvicorn.Config, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._second: int | None = None
        self._headers: _Headers = []
        super().__init__()

    def forget(self) -> None:
        """The headers of the config have changed."""
        self._second = None

    @property
    def default_headers(self) -> _Headers:
        """The headers as they are in this second."""
        second = self._clock.now() // SECOND
        if second != self._second:
            self._second = second
            date = (b"date", formatdate(second, usegmt=True).encode())
            self._headers = [date, *self._config.encoded_headers]
        return self._headers

    @default_headers.setter
    def default_headers(self, headers: _Headers) -> None:
        """uvicorn begins with none."""


class _Uvicorn(uvicorn.Server):
    """Drains after SIGTERM, and answers held waits before it closes its connections, instead of
    cancelling them."""

    def __init__(self, config: uvicorn.Config, server: Server, options: Mapping[str, Any]) -> None:
        super().__init__(config)
        self._dated = self.server_state = DatedState(config, SystemClock())
        self._agentpost = server
        self._given = options
        self._loop = asyncio.get_running_loop()
        self._asked_at: float | None = None
        self._drains = False
        self._asked = asyncio.Event()
        self._hurried = asyncio.Event()

    async def main_loop(self) -> None:
        """Until asked to stop. uvicorn's own looks ten times a second whether it is, which would be
        most of what a server without work does."""
        await self._asked.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if not self._drains:
            self._agentpost.begin_shutdown()
            await super().shutdown(sockets)
            return
        settings = self._agentpost.ctx.settings
        drain, grace = settings.drain_seconds, settings.step_grace_seconds
        until = self._loop.time() + drain
        # From now on each answer ends its connection, so that clients come back to another server.
        self.config.encoded_headers = [*self.config.encoded_headers, _CLOSE]
        self._dated.forget()
        for connection in self.server_state.connections:
            cast("Connection", connection).end_with_answer()
        await self._agentpost.begin_drain()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._hurried.wait()
        self.config.timeout_graceful_shutdown = None  # the time begins when the drain has ended
        closing = asyncio.create_task(super().shutdown(sockets))
        await self._agentpost.finish_drain(grace, self._hurried)
        await asyncio.wait({closing}, timeout=_STOP_SECONDS)
        if not closing.done():
            for task in self.server_state.tasks:
                task.cancel()
            self.force_exit = True
            await asyncio.wait({closing}, timeout=_LEAVE_SECONDS)
            closing.cancel()

    def listen_to_signals(self) -> None:
        """From here on, to the end of the process, signals to stop are ours."""
        for name in STOP_SIGNALS:
            signal.signal(name, self.handle_exit)
        if not hangs_up_with_terminal():
            signal.signal(signal.SIGHUP, self.handle_hangup)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stay with `listen_to_signals`. uvicorn's own raises the signal again when the socket is
        closed, which would end the process before the rest of the server has stopped."""
        yield

    def handle_hangup(self, _: int, __: FrameType | None) -> None:
        """Read the settings again."""
        self._loop.call_soon_threadsafe(reload, self._agentpost, self._given)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop when asked to: SIGTERM drains, Ctrl-C does not. A second SIGTERM ends the drain. A
        second Ctrl-C ends the process at once, wherever it is: what is left then goes on at the
        next start, as after a crash."""
        now = time.monotonic()
        if self._asked_at is None:
            self._asked_at = now
            self._drains = sig == signal.SIGTERM
            super().handle_exit(sig, frame)
            self._loop.call_soon_threadsafe(self._asked.set)
        elif sig == signal.SIGTERM:
            self._loop.call_soon_threadsafe(self._hurried.set)
        elif now - self._asked_at > _ECHO_SECONDS:
            os._exit(128 + sig)


class Companion(Protocol):
    """What a command does beside serving."""

    def greeting(self, server: Server, settings: Settings) -> str:
        """What is printed when the server is ready."""

    async def attend(self, server: Server) -> None:
        """Runs while the server does, and is cancelled when it is asked to stop."""


def run(options: Mapping[str, Any], companion: Companion | None = None) -> None:
    """Serve until asked to stop, with these settings above all others; errors are said and end the
    command with 1."""
    try:
        settings = load_settings(**options)
        faults = list(problems(settings))
        for problem in faults:
            say(problem)
        if faults:
            raise typer.Exit(1)
        listening = _listen(settings)
        if settings.port == 0:
            settings = settings.model_copy(update={"port": listening.getsockname()[1]})
        logging.configure(settings.log_format, settings.log_level)
        output.install()
        for warning in warnings(settings):
            log.warning("settings_warning", warning=warning)
        connections_max = _connections_max(settings.connections_max, _raise_file_limit())
        sys.setswitchinterval(_SWITCH_SECONDS)
        leaving = threading.Timer(_LEAVE_SECONDS, _leave)
        leaving.daemon = True
        try:
            _run(_serve(settings, listening, connections_max, leaving.start, companion, options))
        finally:
            leaving.cancel()
    except (DatabaseBusy, UnknownAgent, FileNotFoundError, ValueError, OSError) as error:
        complain(error)
        raise typer.Exit(1) from None


def _run(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def _leave() -> None:
    """End the process without waiting for its threads."""
    log.error("threads_not_ended", threads=[thread.name for thread in threading.enumerate()])
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    logging.flush()
    os._exit(1)


async def _start(settings: Settings) -> Server:
    """Start the server; raises `OSError` with one line when the database fails meanwhile."""
    try:
        return await start(settings)
    except StoreUnavailable as error:
        raise OSError(str(error)) from error
    except Exception as error:
        fault = database_fault(error)
        if not fault:
            raise
        raise OSError(fault) from error


async def _serve(
    settings: Settings,
    listening: socket.socket,
    connections_max: int,
    leaving: Callable[[], None],
    companion: Companion | None,
    options: Mapping[str, Any],
) -> None:
    """Serve until asked to stop; ``leaving`` is called when everything has ended."""
    server = await _start(settings)
    config = uvicorn.Config(
        server.app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http=cast("type[asyncio.Protocol]", _protocols(server, listening, connections_max)),
        ws="none",
        server_header=False,
        proxy_headers=False,  # nothing here depends on the client's address
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
        backlog=_BACKLOG,
    )
    # Objects made at start-up live as long as the process: collecting it again and again would only
    # cost time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS_MAX)
    logging.flush()  # what was logged before stands above
    greeting = companion.greeting if companion is not None else welcome
    streams.announce(greeting(server, settings))
    attending = asyncio.create_task(companion.attend(server)) if companion is not None else None
    listener = _Uvicorn(config, server, options)
    listener.listen_to_signals()
    is_complete = False
    try:
        await listener.serve(sockets=[listening, *(listening.dup() for _ in range(_ACCEPTED - 1))])
    finally:
        if attending is not None:
            attending.cancel()
        is_complete = await server.stop()
        leaving()
    if not is_complete:  # a thread that hangs would hold up the interpreter's own end
        _leave()


def _protocols(
    server: Server, listening: socket.socket, connections_max: int
) -> Callable[..., asyncio.Protocol]:
    """Makes the protocol of each connection that is accepted, as uvicorn asks for it."""
    clock, counters = SystemClock(), server.ctx.counters
    connections = Connections(connections_max, clock)
    arrivals = Arrivals(
        listening,
        server.ctx.settings.connections_waiting_max,
        min(max(connections_max // _TURNED_AWAY_PART, _TURNED_AWAY_MIN), _TURNED_AWAY_MAX),
        intake=server.ctx.intake,
        are_busy=lambda: connections.are_busy,
        account_of=server.app.account_of,
        no_room=server.app.no_room,
        count=partial(counters.connections_refused.add, ""),
        clock=clock,
    )

    def make_protocol(*args: Any, **keywords: Any) -> asyncio.Protocol:
        return arrivals.protocol(partial(Connection, *args, **keywords, connections=connections))

    return make_protocol


def _listen(settings: Settings) -> socket.socket:
    """The socket, bound but not listening yet: an address in use is reported first."""
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


def _connections_max(setting: int, files: int) -> int:
    """Connections at once with that many open files; ``setting`` 0: as many as there can be."""
    reserve = min(max(files // 4, _FILES_KEPT_MIN), _FILES_KEPT_MAX)
    most = max(files - reserve, _FILES_KEPT_MIN // 4)
    if setting > most:
        log.warning("connections_max_lowered", wanted=setting, most=most, open_files=files)
    return min(setting or most, most)


def _raise_file_limit() -> int:
    """Every held wait is an open file: take what the system allows; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else 1_048_576
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # some systems cap it lower than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


TAKEN_UP: Final = frozenset(
    {
        *("log_level", "drain_seconds", "step_grace_seconds", "conversation_required"),
        *("running_jobs_max", "requests_per_minute", "messages_per_hour", "messages_per_day"),
        *("waits_per_hour", "work_reads_per_hour", "streams_max", "schedules_max"),
        *("stored_bytes_max", "upload_pending_bytes_max", "free_space_min_bytes"),
        *("turn_reply_seconds", "turn_limit_seconds", "busy_wait_seconds", "queue_wait_seconds"),
        *("watch_seconds", "code_changed_wait_seconds"),
        *("door_wait_seconds", "body_idle_seconds", "fetch_seconds"),
        *("message_retention_seconds", "entry_retention_seconds", "idempotency_seconds"),
        *("request_log_seconds", "operator_log_seconds", "session_idle_seconds"),
        *("upload_post_seconds", "upload_keep_seconds"),
        *("webhook_retry_seconds", "webhook_disable_seconds"),
    }
)
"""Settings that are read whenever they are needed. All others are read at the start."""


def reload(server: Server, options: Mapping[str, Any]) -> None:
    """Read the settings again and take up those that can change; a file that cannot be used changes
    nothing. ``options``: those of the command line. Does not raise."""
    before = server.ctx.settings
    try:
        read = load_settings(**options)
        faults = list(problems(read))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)
        faults = [f"{'_'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong]
    except (ValueError, OSError) as error:
        faults = [str(error)]
    if faults:
        log.error("settings_not_reloaded", problems=faults)
        return
    if read.port == 0:
        read = read.model_copy(update={"port": before.port})
    changes = [n for n in Settings.model_fields if getattr(read, n) != getattr(before, n)]
    applicable = {name: getattr(read, name) for name in changes if name in TAKEN_UP}
    server.ctx.settings = before.model_copy(update=applicable)
    if "log_level" in applicable:
        logging.set_level(read.log_level)
    log.info("settings_reloaded", changed=applicable)
    rest = [name for name in changes if name not in TAKEN_UP]
    if rest:
        log.warning("settings_need_restart", settings=rest)


def hangs_up_with_terminal() -> bool:
    """Whether SIGHUP says that the terminal of this process was closed: it has one, and nobody had
    the signal ignored (nohup)."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return False
    with suppress(OSError):
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        return True
    return False
