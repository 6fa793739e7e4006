"""What is attacked: one server on SQLite, or nodes on a PostgreSQL of their own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.e2e.server import AgentServer
from tests.frozen import frozen
from tests.servers import Postgres
from tests.waiting import eventually

FAULTS = ("kill", "worker", "stop", "postgres")
SETTINGS = {
    "bootstrap_credits": 1_000_000,
    "running_jobs_max": 1_000,
    "egress_allow": "127.0.0.1/32",
    "webhook_retry_seconds": "1,1,1,1,1,1,1,1,1,1,2,2,2,2,5,5,5,5",
}


class Target:
    """One server (``nodes`` is 1, on SQLite), or so many nodes on PostgreSQL."""

    def __init__(self, folder: Path, nodes: int, seed: int) -> None:
        self._rng = Random(f"{seed} faults")
        self.postgres: Postgres | None = None
        url: str | None = None
        if nodes > 1:
            folder.chmod(0o711)  # PostgreSQL runs as somebody else when we are root
            self.postgres = Postgres(folder / "postgres")
            self.postgres.start()
            self.postgres._run("CREATE DATABASE {} TEMPLATE {}", "chaos", self.postgres.schema())
            url = self.postgres.url("chaos")
        self.nodes = [self._node(folder / f"node{n}", url, n) for n in range(nodes)]
        for node in self.nodes:
            node.start()
        self.done: list[str] = []
        """The faults so far, in words."""

    def _node(self, home: Path, url: str | None, n: int) -> AgentServer:
        settings = SETTINGS if url is None else {**SETTINGS, "database_url": url}
        node = AgentServer(home, **settings)
        if n:
            (home / "data").symlink_to(self.nodes_home(home) / "data")
            node.trace_file = self.nodes_home(home) / "trace"
        elif url is not None:
            (home / "data").mkdir(mode=0o700)
        return node

    @staticmethod
    def nodes_home(home: Path) -> Path:
        """The first node's folder, which has the blobs and the trace of all."""
        return home.parent / "node0"

    @property
    def faults(self) -> tuple[str, ...]:
        """Those that can be made here."""
        return FAULTS if self.postgres is not None else FAULTS[:-1]

    def harm(self, fault: str) -> None:
        """Do it, and have everything running again when this returns."""
        node = self._rng.choice(self.nodes)
        doing: dict[str, Callable[[AgentServer], str]] = {
            "kill": self._kill,
            "worker": self._kill_worker,
            "stop": self._freeze,
            "postgres": self._restart_postgres,
        }
        self.done.append(doing[fault](node))

    def _kill(self, node: AgentServer) -> str:
        away = self._rng.choice((0.0, 0.5, 4.0))
        node.kill()
        time.sleep(away)
        node.start()
        return f"kill -9 of {node.home.name}, {away:g} s away"

    def _kill_worker(self, node: AgentServer) -> str:
        workers = _children(node.pid)
        if not workers:
            return f"{node.home.name} had no worker process to kill"
        os.kill(self._rng.choice(workers), signal.SIGKILL)
        return f"kill -9 of a worker process of {node.home.name}"

    def _freeze(self, node: AgentServer) -> str:
        seconds = self._rng.choice((1.0, 4.5, 6.0))
        with frozen(node.pid):
            time.sleep(seconds)
        return f"SIGSTOP of {node.home.name} for {seconds:g} s"

    def _restart_postgres(self, _: AgentServer) -> str:
        assert self.postgres is not None
        away = self._rng.choice((0.0, 1.0, 3.0))
        self.postgres.stop()
        time.sleep(away)
        self.postgres.start()
        return f"PostgreSQL stopped as by a crash, {away:g} s away"

    def starts(self) -> list[str]:
        """The lines that steps left outside: a name and a key for each time one began."""
        return self.nodes[0].trace()

    def end(self) -> None:
        """Stop all of it."""
        for node in self.nodes:
            if node.process is not None:
                node.kill()
        if self.postgres is not None:
            self.postgres.stop()


def _children(pid: int) -> list[int]:
    """The worker processes of a server."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in listed.read_text().split():
            command = Path(f"/proc/{child}/cmdline").read_bytes()
            if b"agentpost.processes.main" in command:
                found.append(int(child))
    return found


def wait_until_ready(target: Target) -> None:
    """Every node answers again."""
    for node in target.nodes:
        eventually(node._is_ready, what=f"readiness of {node.home.name}")
