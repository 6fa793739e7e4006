"""The faults: each is done to a target, which has everything running again afterwards."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.chaos.targets import Target
from tests.e2e.server import AgentServer
from tests.freezing import freeze


def harm(target: Target, fault: str) -> None:
    """Make the fault, to a node by chance; returns when it is over."""
    target.done.append(FAULTS[fault](target, target.rng.choice(target.nodes)))


def _kill(target: Target, node: AgentServer) -> str:
    away = target.rng.choice((0.0, 0.5, 4.0))
    node.kill()
    time.sleep(away)
    node.start()
    return f"kill -9 of {node.home.name}, {away:g} s away"


def _restart(target: Target, node: AgentServer) -> str:
    code = node.stop()
    if code != 0:
        target.wrong.append(f"after SIGTERM {node.home.name} ended with {code}")
    node.start()
    return f"SIGTERM of {node.home.name}, which starts again"


def _kill_agent(target: Target, node: AgentServer) -> str:
    agents = _children(node.pid, b"agentpost.author.agent_process")
    if not agents:
        return f"{node.home.name} had no agent process to kill"
    os.kill(target.rng.choice(agents), signal.SIGKILL)
    return f"kill -9 of an agent process of {node.home.name}"


def _kill_worker(target: Target, node: AgentServer) -> str:
    workers = _children(node.pid, b"agentpost.author.worker_process")
    if not workers:
        return f"{node.home.name} had no worker process to kill"
    os.kill(target.rng.choice(workers), signal.SIGKILL)
    return f"kill -9 of a worker process of {node.home.name}"


def _freeze(target: Target, node: AgentServer) -> str:
    seconds = target.rng.choice((1.0, 4.5, 6.0))
    with freeze(node.pid):
        time.sleep(seconds)
    return f"SIGSTOP of {node.home.name} for {seconds:g} s"


def _restart_postgres(target: Target, _: AgentServer) -> str:
    assert target.postgres is not None
    away = target.rng.choice((0.0, 1.0, 3.0))
    target.postgres.stop()
    time.sleep(away)
    target.postgres.start()
    return f"PostgreSQL stopped as by a crash, {away:g} s away"


def _cut_network(target: Target, _: AgentServer) -> str:
    assert target.network is not None
    how = target.rng.choice(("cut", "cut after COMMIT", "silent"))
    if how == "cut":
        target.network.cut()
    elif how == "silent":
        target.network.silence()
        time.sleep(5)
        target.network.speak()
    else:
        target.network.cut_after(b"COMMIT")
        time.sleep(1)
        target.network.cut_after(None)
    return f"the connections to PostgreSQL are {how}"


def _set_clock(target: Target, node: AgentServer) -> str:
    clock = target.clocks[target.nodes.index(node)]
    seconds = target.rng.choice((-45.0, -2.0, 2.0, 45.0))
    if abs(clock.seconds + seconds) > CLOCK_SECONDS_MAX:
        seconds = -clock.seconds
    clock.set(clock.seconds + seconds)
    return f"the clock of {node.home.name} set by {seconds:+g} s"


def _fail_redis(target: Target, _: AgentServer) -> str:
    assert target.redis is not None
    away = target.rng.choice((None, 0.0, 3.0))
    if away is None:
        target.redis.flush()
        return "Redis forgot everything"
    target.redis.stop()
    time.sleep(away)
    target.redis.start()
    return f"Redis stopped, {away:g} s away"


def _fail_bucket(target: Target, _: AgentServer) -> str:
    assert target.bucket is not None
    how, seconds = target.rng.choice(("refuses", "is silent")), target.rng.choice((1.0, 5.0))
    target.bucket.fail(how, seconds)
    return f"the bucket {how} for {seconds:g} s"


def _fill_disk(target: Target, _: AgentServer) -> str:
    assert target.disk is not None
    seconds = target.rng.choice((1.0, 5.0))
    target.disk.fill(seconds)
    return f"the disk is full for {seconds:g} s"


CLOCK_SECONDS_MAX = 60.0
"""How wrong a clock may be: a turn that runs for 120 seconds by it is abandoned."""
FAULTS: dict[str, Callable[[Target, AgentServer], str]] = {
    "kill": _kill,
    "term": _restart,
    "worker": _kill_worker,
    "agent": _kill_agent,
    "stop": _freeze,
    "postgres": _restart_postgres,
    "network": _cut_network,
    "clock": _set_clock,
    "redis": _fail_redis,
    "bucket": _fail_bucket,
    "disk": _fill_disk,
}
NEED_NODES = {"postgres", "network"}
"""Those that need several nodes, and so PostgreSQL."""


def _children(pid: int, module: bytes) -> list[int]:
    """The processes of a server that run this module."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in listed.read_text().split():
            command = Path(f"/proc/{child}/cmdline").read_bytes()
            if module in command:
                found.append(int(child))
    return found
