"""Work that ends the whole process fails, and what runs beside it does not (design: Work that ends
its process)."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import httpx2

from tests.e2e.caller import Caller, Json
from tests.e2e.cluster import Cluster, cluster
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.waiting import eventually

__all__ = ["cluster"]

SETTINGS: dict[str, Any] = {
    "agent": "tests.e2e.poisoned:agent",
    "agent_processes": 0,  # it ends the server's own
    "running_jobs_max": 100,
}
INNOCENT = [f"{kind} innocent{n}" for kind in ("job", "turn") for n in range(3)]
CULPRITS = ["job culprit", "turn culprit"]
DEATHS_MAX = 6
SECONDS_MAX = 240.0
LOOK_SECONDS = 0.05


@contextmanager
def supervised(servers: Sequence[AgentServer]) -> Iterator[list[AgentServer]]:
    """Start each server again when it has ended, as a service manager does; the deaths so far."""
    deaths: list[AgentServer] = []
    over = threading.Event()

    def supervise(server: AgentServer) -> None:
        while not over.wait(LOOK_SECONDS):
            if server.process is None or server.process.poll() is not None:
                if server.process is not None:
                    deaths.append(server)
                server.process = None
                with suppress(AssertionError):  # it died before it was ready
                    server.start()

    threads = [threading.Thread(target=supervise, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield deaths
    finally:
        over.set()
        for thread in threads:
            thread.join()


class Callers:
    """Calls whichever of the servers lives."""

    def __init__(self, servers: Sequence[AgentServer]) -> None:
        self.callers = [Caller(server) for server in servers]
        for caller in self.callers:
            assert caller.contract, "it is read while all is well"

    def ask(self, call: Callable[[Caller], Json]) -> Json:
        """The answer, also when servers die meanwhile."""

        def ask() -> Json | None:
            for caller in self.callers:
                with suppress(httpx2.TransportError, AssertionError):  # a 503 while it comes up
                    return call(caller)
            return None

        return eventually(ask, SECONDS_MAX, "an answer")

    def final(self, message_id: str) -> Json:
        """The message when it is final."""

        def look() -> Json | None:
            message = self.ask(lambda caller: caller.get(message_id))
            return message if message["final"] else None

        return eventually(look, SECONDS_MAX, f"the end of {message_id}")


def check_that_only_the_culprits_fail(
    servers: Sequence[AgentServer], process_deaths_max: int
) -> None:
    callers = Callers(servers)
    texts = [*INNOCENT, *CULPRITS]
    first = callers.callers[0]
    sent = {text: first.send(text, conversation=text, wait=0)["id"] for text in texts}
    with supervised(servers) as deaths:
        eventually(lambda: len(deaths) >= 2, SECONDS_MAX, "the second death")
        other = callers.ask(lambda caller: caller.send("hello", conversation="unsuspected"))
        ends = {text: callers.final(message_id) for text, message_id in sent.items()}
        assert callers.final(other["id"])["reply"] == "hello", "unsuspected work goes on"
    statuses = {text: end["status"] for text, end in ends.items()}
    assert statuses == dict.fromkeys(INNOCENT, "completed") | dict.fromkeys(CULPRITS, "failed")
    reasons = [ends[text]["reason"] for text in CULPRITS]
    assert reasons == ["execution_failed", "turn_failed"]
    for text in CULPRITS:
        last = callers.ask(lambda caller, of=sent[text]: {"line": caller.log(of)[-1]})  # type: ignore[misc]
        assert "given up" in last["line"]["text"]
    assert servers[0].steps().count("culprit") <= 2 * DEATHS_MAX
    assert len(deaths) <= process_deaths_max


def test_innocent_work_outlives_what_ends_its_process(start_server: ServerMaker) -> None:
    """In one process the two culprits die together at first, so they take fewer processes."""
    check_that_only_the_culprits_fail([start_server(**SETTINGS)], 2 * DEATHS_MAX - 2)


def test_innocent_work_outlives_what_ends_one_node_after_another(cluster: Cluster) -> None:
    """On two nodes each culprit may end a process that the other does not run in."""
    servers = [cluster.start(**SETTINGS), cluster.start(**SETTINGS)]
    check_that_only_the_culprits_fail(servers, 2 * DEATHS_MAX)
