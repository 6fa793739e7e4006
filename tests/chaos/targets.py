"""What is attacked: one server on SQLite, or nodes on a PostgreSQL of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.chaos.stores import Bucket, Disk, Redis
from tests.e2e.server import AgentServer
from tests.forking import SetClock
from tests.gateway import Gateway
from tests.servers import Postgres
from tests.waiting import eventually

SETTINGS = {
    "bootstrap_credits": 1_000_000,
    "running_jobs_max": 1_000,
    "egress_allow": "127.0.0.1/32",
    "webhook_retry_seconds": "1,1,1,1,1,1,1,1,1,1,2,2,2,2,5,5,5,5",
    "free_space_min_bytes": 0,
}
AGENT_PROCESSES = 2


class Target:
    """One server on SQLite, or nodes on PostgreSQL, with the stores that the faults need.

    Args:
        roles: of the nodes, in their order; a single one is on SQLite and has every role.
        faults: that will be made. A bucket stands for the folder of files only when it fails, a
            disk is a small one only when it fills up, and the agent has processes of its own, on a
            single node or on every second one, only when they are killed.
    """

    def __init__(
        self, folder: Path, roles: Sequence[str], seed: int, faults: Sequence[str]
    ) -> None:
        self.rng = Random(f"{seed} faults")
        self._home = folder
        self.postgres: Postgres | None = None
        self.network: Gateway | None = None
        self.redis = Redis(folder / "redis") if "redis" in faults else None
        self.bucket = Bucket() if "bucket" in faults else None
        self.disk = Disk(folder / "disk") if "disk" in faults else None
        settings: dict[str, object] = dict(SETTINGS)
        if self.redis is not None:
            settings["redis_url"] = self.redis.url
        if self.bucket is not None:
            settings["storage_url"] = self.bucket.url
        if len(roles) > 1:
            folder.chmod(0o711)  # PostgreSQL runs as somebody else when we are root
            self.postgres = Postgres(folder / "postgres")
            self.postgres.start()
            self.postgres._run("CREATE DATABASE {} TEMPLATE {}", "chaos", self.postgres.schema())
            settings["database_url"] = self.postgres.url("chaos")
            if "network" in faults:
                self.network = Gateway(self.postgres.home / "socket" / ".s.PGSQL.5432")
                settings["database_url"] = (
                    f"postgresql://postgres@127.0.0.1:{self.network.port}/chaos"
                )
        self.clocks = [SetClock(folder / f"clock{n}") for n in range(len(roles))]
        self.nodes: list[AgentServer] = []
        for n, role in enumerate(roles):
            apart = "agent" in faults and n == min(len(roles) - 1, n | 1)
            own = {"agent_processes": AGENT_PROCESSES} if apart else {}
            self.nodes.append(self._node(n, role, {**settings, **own}))
        for node in self.nodes:
            node.start()
        self.done: list[str] = []
        """The faults so far, in words."""
        self.wrong: list[str] = []
        """What a fault should have led to and did not."""

    def _node(self, n: int, role: str, settings: dict[str, object]) -> AgentServer:
        home = self._home / f"node{n}"
        node = AgentServer(home, role=role, clock=self.clocks[n].file, **settings)
        first = self._home / "node0"
        if n:
            (home / "data").symlink_to(first / "data")
            node.trace_file = first / "trace"
        elif self.disk is not None:
            (home / "data").symlink_to(self.disk.folder)
        elif "database_url" in settings:
            (home / "data").mkdir(mode=0o700)
        return node

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes if node._settings["role"] != "worker"]

    def starts(self) -> list[str]:
        """The lines that steps left outside: a name and a key for each time one began."""
        return self.nodes[0].trace()

    def end(self) -> None:
        for node in self.nodes:
            if node.process is not None:
                node.kill()
        if self.network is not None:
            self.network.shut()
        for store in (self.postgres, self.redis, self.bucket, self.disk):
            if store is not None:
                store.stop()

    def wait_until_ready(self) -> None:
        for node in self.nodes:
            eventually(node._is_ready, what=f"readiness of {node.home.name}")
