"""A real `agentpost serve` in a process of its own, with a data folder of its own.

Settings are given by their names in lower case and reach the server through its environment. The
agent is `tests.e2e.agents:agent`, whose gates a test opens here.
"""

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import httpx2
import psycopg
from psycopg.rows import dict_row

from tests import forking
from tests.forking import Process
from tests.servers import empty_sqlite, free_port
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
KEY = "svc_key_test"
ACCOUNT = "owner@localhost"
UNLIMITED = dict.fromkeys(
    (
        "requests_per_minute",
        "messages_per_hour",
        "messages_per_day",
        "waits_per_hour",
        "work_reads_per_hour",
    ),
    1_000_000,
)
"""Tests send more than one account may, unless limits are what they test."""
START_SECONDS_MAX = 300.0
STOP_SECONDS_MAX = 60.0
COMMAND_SECONDS_MAX = 60.0
LOG_CHARACTERS = 6_000


class AgentServer:
    """One data folder and the server that works on it; may be started again and again.

    Args:
        home: an empty folder: data, gates, traces and the log go there.
        settings: names and values of settings; ``agent`` is ours unless given. ``constants`` is
            none of them, nor are ``clock`` and ``imported``: see `tests.forking.start`.
    """

    def __init__(self, home: Path, **settings: Any) -> None:
        self.home = home
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log_file = home / "server.log"
        self.gates = home / "gates"
        self.trace_file = home / "trace"
        self.process: Process | None = None
        self.constants: Mapping[str, float | str] = settings.pop("constants", {})
        self.without: tuple[str, ...] = settings.pop("without", ())
        self.clock: Path | None = settings.pop("clock", None)
        self.imported: tuple[str, ...] = settings.pop("imported", ())
        self.wrapped_by: tuple[str, ...] = ()
        """A command that starts the server: itself with other words behind."""
        self.output: Callable[[], int] | None = None
        """Opens what the server writes to, where that is not its log."""
        self._settings = {
            "agent": "tests.e2e.agents:agent",
            "bootstrap_api_key": KEY,
            "pool_workers": 1,
            "step_grace_seconds": 0,
            "worker_env": "TEST_*",
            **UNLIMITED,
            "agent_processes": os.environ.get("TEST_AGENT_PROCESSES", "0"),
            **settings,
        }
        self.database_url: str | None = settings.get("database_url")
        self.gates.mkdir(parents=True)
        self.trace_file.touch()

    # --- the process ------------------------------------------------------------------------------
    def start(self) -> "AgentServer":
        """Start it and wait until it is ready; raises with its log when it does not come up."""
        assert self.process is None, "the server runs already"
        data = self.home / "data"
        if self.database_url is None and not data.exists():
            # As an earlier start would have left it: making the schema costs one more process.
            data.mkdir(mode=0o700)
            shutil.copyfile(empty_sqlite(), data / "agentpost.db")
        with self._open_output() as log:
            if self.wrapped_by:
                self.process = subprocess.Popen(
                    [*self.wrapped_by, sys.executable, "-m", "agentpost", "serve"],
                    env=self._environment(),
                    cwd=self.home,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            else:
                self.process = forking.start(
                    ["serve"],
                    env=self._environment(),
                    cwd=self.home,
                    output=log,
                    constants=self.constants,
                    without=self.without,
                    clock=self.clock,
                    imported=self.imported,
                )
        try:
            eventually(self._is_ready, START_SECONDS_MAX, "readiness")
        except AssertionError as error:
            self.kill()
            error.add_note(self.log_tail())
            raise
        return self

    def _open_output(self) -> IO[bytes]:
        if self.output is None:
            return self.log_file.open("ab")
        return os.fdopen(self.output(), "wb", buffering=0)

    def __enter__(self) -> "AgentServer":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.stop()

    def stop(self) -> int:
        """Ask it to stop, as a service manager does; its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, wherever it is (kill -9); what it started ends by itself."""
        self._end(signal.SIGKILL)

    def send_signal(self, which: signal.Signals) -> Process:
        """Signal the running server; its process."""
        assert self.process is not None, "the server does not run"
        self.process.send_signal(which)
        return self.process

    def restart(self) -> None:
        """End it at once and start it again."""
        self.kill()
        self.start()

    def _end(self, how: signal.Signals) -> int:
        assert self.process is not None, "the server does not run"
        process, self.process = self.process, None
        process.send_signal(how)
        try:
            return process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the server did not stop\n{self.log_tail()}") from None

    def _is_ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.poll()}")
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=2).status_code == 200
        except httpx2.TransportError:
            return False

    def _environment(self) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if not n.startswith("AGENTPOST_")}
        given = {f"AGENTPOST_{n.upper()}": str(v) for n, v in self._settings.items()}
        return {
            **kept,
            "AGENTPOST_DATA_DIR": str(self.home / "data"),
            "AGENTPOST_PORT": str(self.port),
            **given,
            "PYTHONPATH": str(ROOT),
            "TEST_GATES": str(self.gates),
            "TEST_TRACE": str(self.trace_file),
        }

    # --- beside it --------------------------------------------------------------------------------
    def command(self, *arguments: str) -> Any:
        """Run `agentpost …` on the same data folder; what it prints with ``--json``."""
        code, said = self.run(*arguments, "--json")
        assert code == 0, f"{arguments}: {said}"
        return json.loads(said)

    def run(self, *arguments: str, data: Path | None = None) -> tuple[int, str]:
        """Run `agentpost …` on the same data folder, or on another one; its exit code, and all
        that it says."""
        done = self._run(*arguments, data=data)
        return done.returncode, done.stdout + done.stderr

    def findings(self) -> list[dict[str, str]]:
        """What the doctor finds."""
        found: list[dict[str, str]] = json.loads(self._run("doctor", "--json").stdout)["findings"]
        return found

    def _run(self, *arguments: str, data: Path | None = None) -> "subprocess.CompletedProcess[str]":
        environment = self._environment()
        if data is not None:
            environment["AGENTPOST_DATA_DIR"] = str(data)
        done = forking.run(arguments, env=environment, cwd=self.home, constants=self.constants)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def readiness(self) -> tuple[int, dict[str, Any]]:
        """What it says of its parts."""
        answer = httpx2.get(f"{self.url}/readyz", timeout=COMMAND_SECONDS_MAX)
        return answer.status_code, answer.json()

    def new_key(self, name: str, **limits: int) -> str:
        """The key of a new account with these limits, called `name@example.com`."""
        email = f"{name}@example.com"
        self.command("accounts", "create", "--email", email, "--credits", "100")
        if limits:
            options = [f"--{n.replace('_', '-')}={v}" for n, v in limits.items()]
            self.command("limits", "set", email, *options)
        made: str = self.command("keys", "create", "--account", email, "--name", name)["key"]
        return made

    def another_key(self, name: str, scopes: str = "send,read,admin") -> str:
        """One more key of the first account."""
        words = ("keys", "create", "--account", ACCOUNT, "--name", name, "--scopes", scopes)
        made: str = self.command(*words)["key"]
        return made

    def execute(self, sql: str) -> None:
        """Change the database beside the server."""
        if self.database_url is None:
            with closing(sqlite3.connect(self._database_file)) as database, database:
                database.execute(sql)
        else:
            with psycopg.connect(self.database_url) as connection:
                connection.execute(sql.encode())

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """What a query finds in the database, by the names of the columns."""
        if self.database_url is None:
            with closing(sqlite3.connect(self._database_file)) as database:
                database.row_factory = sqlite3.Row
                return [dict(row) for row in database.execute(sql)]
        with psycopg.connect(self.database_url, row_factory=dict_row) as connection:
            return connection.execute(sql.encode()).fetchall()

    @contextmanager
    def no_writes(self, table: str) -> Iterator[None]:
        """Meanwhile writing to that table (on SQLite: to any) waits; reading does not."""
        if self.database_url is None:
            with closing(sqlite3.connect(self._database_file, isolation_level=None)) as database:
                database.execute("BEGIN IMMEDIATE")
                yield
        else:
            with psycopg.connect(self.database_url) as connection:
                connection.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE".encode())
                yield

    @contextmanager
    def files_up_to(self, size: int) -> Iterator[None]:
        """Meanwhile no file of the server grows beyond that many bytes, as on a disk that is full;
        nor does one of a worker that it starts."""
        pid = self.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

    @property
    def _database_file(self) -> Path:
        return self.home / "data" / "agentpost.db"

    @property
    def pid(self) -> int:
        """The process of the running server."""
        assert self.process is not None, "the server does not run"
        return self.process.pid

    def open_gate(self, name: str) -> None:
        """Let the agent pass where it waits, or will wait, for that gate."""
        (self.gates / name).touch()

    def has_reached(self, name: str) -> bool:
        """Whether the agent has come to that gate."""
        return (self.gates / f"{name}.reached").exists()

    def await_gate(self, name: str) -> None:
        """Wait until the agent has come to that gate."""
        eventually(lambda: self.has_reached(name), what=f"the agent at the gate {name}")

    def steps(self) -> list[str]:
        """The names of the steps that began, in order."""
        return [line.split()[0] for line in self.trace()]

    def trace(self) -> list[str]:
        """What the agent's steps left: a line for each time one began."""
        return self.trace_file.read_text().splitlines()

    def log_lines(self, after: int = 0) -> list[str]:
        """The whole lines of the server's log, also while it writes another, from that byte on."""
        written = self.log_file.read_bytes()[after:].decode()
        return written[: written.rfind("\n") + 1].splitlines()

    def log_tail(self) -> str:
        """The end of the server's log."""
        return self.log_file.read_text(errors="replace")[-LOG_CHARACTERS:]
