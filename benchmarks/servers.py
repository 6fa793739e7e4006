"""Starts a server under test in a fresh data folder on its own core, and stops it again."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from benchmarks.processes import Usage, tree_usage

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 120.0
STOP_SECONDS = 15.0
QUIET_SECONDS = 0.5
"""A server is settled when it uses next to no CPU for this long."""
QUIET_CPU_SHARE = 0.1
SETTLE_SECONDS_MAX = 20.0
LOG_TAIL = 3000
UNLIMITED = "100000000"

FLOOR = "floor"
PRODUCT = "agentpost"


class ServerFailed(Exception):
    """A server did not start or ended by itself; a note holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, as the load sees it."""

    name: str
    url: str
    key: str
    pid: int
    ready_seconds: float
    folder: Path
    database_url: str = ""
    database_pid: int | None = None
    """Of the PostgreSQL it works with; None for SQLite."""
    worker_pid: int | None = None
    """Of the process that runs its jobs; None where it does that itself."""

    def usage(self) -> Usage:
        """CPU and memory of the server and its children, of its PostgreSQL and its worker."""
        pids = (self.pid, self.database_pid, self.worker_pid)
        used = [tree_usage(pid) for pid in pids if pid is not None]
        return Usage(sum(each.cpu for each in used), sum(each.rss for each in used))

    async def another(self, email: str, *, granted: int = 0) -> Server:
        """The same server with the key of a new account, with so many credits; raises
        `ServerFailed`."""
        await self._command("accounts", "create", "--email", email, "--credits", str(granted))
        made = await self._command("keys", "create", "--account", email, "--name", "bench")
        return replace(self, key=json.loads(made)["key"])

    async def lift_limits(self, email: str) -> None:
        """The account may send as much as it likes; raises `ServerFailed`."""
        limits = ("requests-per-minute", "messages-per-hour", "messages-per-day", "waits-per-hour")
        lifted = [word for limit in limits for word in (f"--{limit}", UNLIMITED)]
        await self._command("limits", "set", email, *lifted)

    async def others(self, count: int) -> list[Server]:
        """The same server with the keys of so many new accounts; raises `ServerFailed`."""
        program = (sys.executable, "-m", "benchmarks.accounts")
        keys = json.loads(await self._output(*program, str(count)))
        return [replace(self, key=key) for key in keys]

    async def _command(self, *args: str) -> bytes:
        return await self._output(command(PRODUCT)[0], *args, "--json")

    async def _output(self, *args: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *args,
            cwd=ROOT,
            env={
                **os.environ,
                "AGENTPOST_DATA_DIR": str(self.folder / "data"),
                "AGENTPOST_DATABASE_URL": self.database_url,
            },
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
        if process.returncode:
            raise ServerFailed(f"{' '.join(args)} failed")
        return out

    async def settle(self) -> None:
        """Wait until the server has become quiet, so that memory is read at rest."""
        give_up = time.monotonic() + SETTLE_SECONDS_MAX
        while time.monotonic() < give_up:
            before = self.usage().cpu
            await asyncio.sleep(QUIET_SECONDS)
            if self.usage().cpu - before <= QUIET_SECONDS * QUIET_CPU_SHARE:
                return


@dataclass(frozen=True, slots=True)
class Cores:
    """Where server and load run; both are None where the system cannot pin."""

    server: int | None
    load: int | None

    @classmethod
    def choose(cls) -> Cores:
        """The first allowed core for the server, the last for the load."""
        if not hasattr(os, "sched_getaffinity"):
            return cls(None, None)
        allowed = sorted(os.sched_getaffinity(0))
        return cls(allowed[0], allowed[-1]) if len(allowed) > 1 else cls(None, None)


def pin(core: int | None) -> None:
    """Keep this thread, and processes it starts, on ``core``."""
    if core is not None:
        os.sched_setaffinity(0, {core})


def raise_open_files() -> int:
    """Allow as many open files as the system lets us; children inherit it. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@asynccontextmanager
async def running(
    name: str, cores: Cores, settings: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[Server]:
    """A ready server called ``name`` with an empty data folder; raises `ServerFailed`.

    ``settings`` are its own, by names without ``AGENTPOST_``; they come before those of all.
    """
    key, began = f"svc_key_{secrets.token_hex(24)}", time.monotonic()
    async with _started(name, key, cores, settings) as (process, url, folder):
        yield Server(name, url, key, process.pid, time.monotonic() - began, folder)
        if process.poll() is not None:
            raise ServerFailed(f"{name} ended by itself, exit code {process.returncode}")


@asynccontextmanager
async def worker(
    server: Server, cores: Cores, settings: Mapping[str, str]
) -> AsyncIterator[Server]:
    """The same server with a process beside it that has these settings, in its data folder."""
    own = {**settings, "DATA_DIR": str(server.folder / "data")}
    async with _started(PRODUCT, server.key, cores, own) as (process, _, _):
        yield replace(server, worker_pid=process.pid)


@asynccontextmanager
async def _started(
    name: str, key: str, cores: Cores, settings: Mapping[str, str]
) -> AsyncIterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """A ready process, its address and its folder; both are gone at the end."""
    folder, port = Path(tempfile.mkdtemp(prefix=f"bench-{name}-")), free_port()
    log = folder / "server.log"
    own = {f"AGENTPOST_{setting}": value for setting, value in settings.items()}
    process = spawn(command(name), {**environment(folder, key, port), **own}, folder, log, cores)
    try:
        url = f"http://127.0.0.1:{port}"
        await until_ready(process, url)
        yield process, url, folder
    except Exception as error:
        # The folder is about to go; what the server said is often the reason.
        error.add_note(tail(log))
        raise
    finally:
        stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def spawn(
    argv: list[str], env: dict[str, str], folder: Path, log: Path, cores: Cores
) -> subprocess.Popen[bytes]:
    """Start ``argv`` in ``folder`` on the server's core, its output going to ``log``."""
    pin(cores.server)  # a child stays where its parent was
    try:
        with log.open("wb") as output:
            return subprocess.Popen(
                argv, env=env, cwd=folder, stdout=output, stderr=subprocess.STDOUT
            )
    finally:
        pin(cores.load)


def command(name: str) -> list[str]:
    """What starts the server."""
    if name == FLOOR:
        return [sys.executable, "-m", "benchmarks.floor"]
    script = Path(sys.executable).with_name("agentpost")
    return [str(script) if script.exists() else "agentpost", "serve"]


def environment(folder: Path, key: str, port: int) -> dict[str, str]:
    """The server's settings: the caller's own ``AGENTPOST_*`` must not leak into a measurement."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("AGENTPOST_")}
    data = folder / "data"
    data.mkdir()
    settings = {
        "DATA_DIR": str(data),
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "AGENT": "benchmarks.agent:agent",
        "BOOTSTRAP_API_KEY": key,
        "BOOTSTRAP_CREDITS": "1000000",
        "REQUESTS_PER_MINUTE": UNLIMITED,
        "MESSAGES_PER_HOUR": UNLIMITED,
        "MESSAGES_PER_DAY": UNLIMITED,
        "WAITS_PER_HOUR": UNLIMITED,
        "WORK_READS_PER_HOUR": UNLIMITED,
        "RUNNING_JOBS_MAX": UNLIMITED,
        "EGRESS_ALLOW": "127.0.0.1/32",
    }
    ours = {f"AGENTPOST_{setting}": value for setting, value in settings.items()}
    return {**inherited, **ours, "PYTHONPATH": str(ROOT)}


def free_port() -> int:
    """A port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    """Wait until ``/readyz`` says 200; raises `ServerFailed`."""
    give_up = time.monotonic() + READY_SECONDS
    while time.monotonic() < give_up:
        if process.poll() is not None:
            break
        if await asyncio.to_thread(answers, f"{url}/readyz"):
            return
        await asyncio.sleep(0.02)
    raise ServerFailed(f"not ready, exit code {process.poll()}")


def answers(url: str) -> bool:
    """Whether a GET says 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def tail(log: Path) -> str:
    """The end of a server's log."""
    return log.read_text(errors="replace")[-LOG_TAIL:]


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to end; kill it if it does not."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
