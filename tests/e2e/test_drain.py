"""SIGTERM drains a server: nobody's request fails, and no step runs twice (design: Shutdown)."""

import itertools
import json
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx2

from tests.e2e.caller import Caller
from tests.e2e.cluster import Cluster, cluster
from tests.e2e.fixtures import ServerMaker
from tests.e2e.receivers import receiving
from tests.e2e.server import KEY, AgentServer
from tests.waiting import eventually

__all__ = ["cluster"]
CLIENTS = 3
STEPS = 3
HOUR = 3_600
CHECK_SECONDS = 0.1
METRICS_TOKEN = "m"


def fresh(server: AgentServer, path: str) -> httpx2.Response:
    """A request on a connection of its own."""
    headers = {"Authorization": f"Bearer {KEY}"}
    return httpx2.get(f"{server.url}{path}", headers=headers, timeout=60)


def held_calls(server: AgentServer) -> int:
    """How many calls the server holds."""
    headers = {"Authorization": f"Bearer {METRICS_TOKEN}"}
    lines = httpx2.get(f"{server.url}/metrics", headers=headers, timeout=60).text.splitlines()
    [value] = [each.split()[-1] for each in lines if each.startswith("agentpost_held_calls")]
    return int(float(value))


def test_a_draining_server_serves_and_hands_over_each_job_behind_its_step(
    start_server: ServerMaker,
) -> None:
    server = start_server(
        drain_seconds=HOUR, step_grace_seconds=HOUR, pool_workers=2, metrics_token=METRICS_TOKEN
    )
    caller = Caller(server)
    here = caller.send([["start", "H", [["step_gate", "here.0", "here"], ["step_here", "here.1"]]]])
    apart = caller.send(
        [["start", "W", [["step_pid", "apart.0", "apart"], ["step", "apart.1"]]]], conversation="b"
    )
    waits = caller.send([["start", "I", [["inbox", 60], ["step", "waits.1"]]]], conversation="c")
    server.await_gate("here")
    eventually((server.gates / "apart.pid").exists)
    with ThreadPoolExecutor(2) as pool:
        polling = pool.submit(fresh, server, f"/v1/messages/{here['id']}?wait=45")
        turn = [["gate", "turn"], ["reply", "in time"]]
        asking = pool.submit(caller.send, turn, conversation="d")
        server.await_gate("turn")
        eventually(lambda: held_calls(server) == 2)  # a poll that comes later waits on
        server.send_signal(signal.SIGTERM)
        assert polling.result(40).json()["status"] == "processing", "it is answered early"
        answer = fresh(server, "/readyz")
        assert (answer.status_code, answer.headers["connection"]) == (503, "close")
        assert caller.send("still here?", conversation="e")["reply"] == "You said: still here?"
        assert server.command("nodes")["data"][0]["state"] == "draining"
        server.open_gate("turn")
        assert asking.result()["reply"] == "in time", "its call is held until the turn ends"
    new = caller.send([["start", "N", [["step", "new.0"]]]], conversation="f")
    for gate in ("here", "apart"):
        server.open_gate(gate)
    eventually(lambda: server.rows("SELECT id FROM jobs WHERE node IS NOT NULL") == [])
    assert set(server.steps()) == {"here.0", "apart.0"}, "no other step begins"
    assert server.stop() == 0, "it was asked twice: enough of that"
    server.start()
    for message in (here, apart, waits, new):
        if message is waits:
            caller.send([["join", None, "go on"]], conversation="c")
        assert caller.final(message["id"])["status"] == "completed"
    assert set(Counter(server.steps()).values()) == {1}
    server.kill()  # nobody waits for an hour


def test_webhooks_on_their_way_are_recorded_before_the_end(start_server: ServerMaker) -> None:
    server = start_server(
        egress_allow="127.0.0.1/32", step_grace_seconds=HOUR, webhook_timeout_seconds=HOUR
    )
    caller = Caller(server)
    with receiving() as receiver:
        receiver.held = threading.Event()
        caller.call("POST", "/v1/webhooks", json={"url": receiver.url})
        caller.send("hello")
        receiver.await_count(1)
        process = server.send_signal(signal.SIGTERM)
        eventually(lambda: "drain_began" in server.log_tail())
        receiver.held.set()
        assert process.wait(60) == 0
        server.process = None
    assert server.rows("SELECT status, attempts FROM deliveries") == [
        {"status": "delivered", "attempts": 1}
    ]
    assert '"unfinished": 0, "webhooks": 0' in server.log_tail(), "it waited for them"


class Balancer:
    """Before several servers, as simple as one can be: it asks `/readyz`, gives each request to a
    server that is ready, on a connection of its own, and tries the next one only when a server
    takes no connection."""

    def __init__(self, nodes: Sequence[AgentServer]) -> None:
        self._ready = {node.url: True for node in nodes}
        self._turn = itertools.count()
        self._ended = threading.Event()

    def check_forever(self) -> None:
        while not self._ended.wait(CHECK_SECONDS):
            for url in self._ready:
                try:
                    self._ready[url] = httpx2.get(f"{url}/readyz").status_code == 200
                except httpx2.TransportError:
                    self._ready[url] = False

    def end(self) -> None:
        self._ended.set()

    def request(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """The answer of a server; raises when one breaks the connection or none is ready."""
        ready = [url for url, is_ready in self._ready.items() if is_ready]
        first = next(self._turn)
        headers = {"Authorization": f"Bearer {KEY}"}
        for n in range(len(ready)):
            url = f"{ready[(first + n) % len(ready)]}{path}"
            with suppress(httpx2.ConnectError):
                return httpx2.request(method, url, json=body, headers=headers, timeout=120)
        raise AssertionError("no server is ready")


def test_a_rolling_restart_fails_no_request_and_repeats_no_step(cluster: Cluster) -> None:
    """Two nodes behind a balancer under load, restarted one after the other."""
    settings = {"drain_seconds": 2, "step_grace_seconds": HOUR, "running_jobs_max": 1_000}
    nodes = [cluster.start(**settings) for _ in range(2)]  # type: ignore[arg-type]
    balancer = Balancer(nodes)
    answers: list[int] = []
    sent: list[str] = []
    enough = threading.Event()

    def load(client: int) -> None:
        for n in itertools.count():
            if enough.is_set():
                return
            name = f"{client}-{n}"
            steps = [["threaded", f"{name}.{k}", 0.2] for k in range(STEPS)]
            message = json.dumps([["step", f"{name}.turn"], ["start", "Work", steps]])
            body = {"message": message, "conversation": name}
            answer = balancer.request("POST", "/v1/messages", body)
            answers.append(answer.status_code)
            if answer.status_code == 201:
                sent.append(answer.json()["id"])
                read = balancer.request("GET", f"/v1/messages/{sent[-1]}?wait=2")
                answers.append(read.status_code)

    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        checks = pool.submit(balancer.check_forever)
        loads = [pool.submit(load, client) for client in range(CLIENTS)]
        try:
            for node in nodes:
                wanted = len(sent) + 2 * CLIENTS
                eventually(lambda count=wanted: len(sent) >= count)  # type: ignore[misc]
                assert node.stop() == 0
                node.start()
        finally:
            enough.set()
            balancer.end()
        for each in (*loads, checks):
            each.result()
    assert Counter(answers).keys() == {200, 201}, Counter(answers)
    caller = Caller(nodes[0])
    ended = [caller.final(message_id) for message_id in sent]
    assert [message for message in ended if message["status"] != "completed"] == []
    times = Counter(nodes[0].steps())
    assert len(times) == len(sent) * (STEPS + 1)
    assert set(times.values()) == {1}, [name for name, count in times.items() if count > 1]
