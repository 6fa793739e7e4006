"""Scaled out: `agentpost serve` on PostgreSQL, alone and as several nodes, through kill -9."""

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.cluster import Cluster, cluster, shared_cluster
from tests.e2e.server import ACCOUNT, AgentServer
from tests.freezing import freeze
from tests.waiting import PATIENCE, PROMPT, eventually

__all__ = ["cluster", "shared_cluster"]
CallerMaker = Callable[..., Caller]


def sent_job(caller: Caller, *script: list[object]) -> Json:
    """A message whose turn has started a job."""
    message = caller.send([["start", "Work", [*script]]])
    assert message["reply"] == "Work: running"
    return message


def test_a_job_of_an_api_node_runs_on_a_worker(cluster: Cluster, callers: CallerMaker) -> None:
    """Which serves no API. A call that waits on the one hears of the end on the other, a stop
    reaches the node that runs the job, and another worker takes up a killed one's job."""
    api = cluster.start("api")
    assert "limits_per_node" in api.log_tail(), "there is no Redis in which to count"
    caller = callers(api)
    message = sent_job(caller, ["gate", "g"], ["return", "ok"])
    worker = cluster.start("worker")  # the job waited for one
    assert callers(worker).http.get("/healthz").status_code == 200
    assert callers(worker).http.post("/v1/messages", json={"message": "hello"}).status_code == 404
    worker.await_gate("g")
    assert cluster.rows("SELECT count(*) FROM nodes") == [(2,)]
    opener = threading.Timer(0.3, worker.open_gate, ["g"])
    opener.start()
    assert caller.get(message["id"], wait=25)["status"] == "completed"
    opener.join()

    message = sent_job(caller, ["step_gate", "stopped", "s"], ["step", "never"])
    worker.await_gate("s")
    work_id = message["jobs"][0]["work_id"]
    assert caller.call("POST", f"/v1/work/{work_id}/stop").status_code == 200
    assert caller.get(message["id"])["jobs"][0]["status"] == "cancelled"
    eventually(lambda: "job_aborted" in worker.log_tail(), PROMPT, "the end of the job's task")

    steps: list[list[object]] = [["step", "one"], ["step_gate", "two", "k"], ["step", "three"]]
    message = sent_job(caller, *steps, ["return", "ok"])
    worker.await_gate("k")
    second = cluster.start("worker")
    worker.kill()
    second.open_gate("k")
    assert caller.final(message["id"], PROMPT)["status"] == "completed"
    assert second.steps() == ["stopped", "one", "two", "two", "three"]
    # The step in flight is told by its key that it runs again.
    assert len(set(second.trace())) == 4
    eventually(lambda: cluster.rows("SELECT count(*) FROM nodes") == [(2,)])


def test_another_node_takes_up_a_killed_one_s_turn(cluster: Cluster, callers: CallerMaker) -> None:
    first, second = cluster.start(), cluster.start()
    script: list[list[object]] = [["step", "one"], ["step_gate", "two", "g"], ["reply", "done"]]
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(callers(first).post, script, key="again")
        second.await_gate("g")
        first.kill()
        assert isinstance(call.exception(), httpx2.TransportError)
    second.open_gate("g")
    again = callers(second).post(script, key="again")
    assert again.status_code == 200
    final = callers(second).final(again.json()["id"], PROMPT)
    assert (final["status"], final["reply"]) == ("completed", "done")
    assert second.steps() == ["one", "two", "two"]


# --- one node -------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def node(shared_cluster: Cluster) -> AgentServer:
    return shared_cluster.start()


def test_it_survives_losing_every_connection(
    shared_cluster: Cluster, node: AgentServer, callers: CallerMaker
) -> None:
    caller = callers(node)
    running = sent_job(caller, ["gate", "g"], ["step", "one"], ["return", "ok"])
    node.await_gate("g")
    shared_cluster.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert caller.send("hello")["reply"] == "You said: hello"
    eventually(lambda: "notices_resumed" in node.log_tail())
    later = sent_job(caller, ["return", "ok"])
    node.open_gate("g")
    for message in (running, later):
        assert caller.final(message["id"])["status"] == "completed"
    assert node.steps().count("one") == 1


def test_a_commit_that_breaks_is_not_the_job_s_failure(
    shared_cluster: Cluster, node: AgentServer, callers: CallerMaker
) -> None:
    """The server goes away in the middle of COMMIT: nobody knows what became of the call."""
    caller = callers(node)
    shared_cluster.run(
        "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$"
    )
    shared_cluster.run(
        "CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON calls DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW WHEN (NEW.n = 2) EXECUTE FUNCTION cut()"
    )
    script: list[list[object]] = [["step", "c.0"], ["step_watched", "c.1"], ["return", "ok"]]
    message = sent_job(caller, *script)
    node.await_gate("c.1")
    assert caller.get(message["id"])["status"] == "processing"
    shared_cluster.run("DROP TRIGGER cut ON calls")
    shared_cluster.run("DROP FUNCTION cut")
    final = caller.final(message["id"], PATIENCE)
    assert (final["status"], final["reason"]) == ("completed", None)
    steps = [step for step in node.steps() if step.startswith("c.")]
    assert (steps.count("c.0"), set(steps)) == (1, {"c.0", "c.1"})


def test_commands_work_beside_the_server(
    shared_cluster: Cluster, node: AgentServer, callers: CallerMaker
) -> None:
    caller = callers(node)
    message = sent_job(caller, ["charge", 1000], ["step", "paid", 5], ["return", "ok"])
    caller.until_message(message["id"], status="blocked")
    node.command("credits", "add", ACCOUNT, "10")
    assert caller.final(message["id"])["status"] == "completed"
    assert node.steps().count("paid") == 1
    assert node.stop() == 0
    assert '"node_left"' in node.log_tail()
    assert shared_cluster.rows("SELECT count(*) FROM nodes") == [(0,)]
    node.start()


def test_a_database_that_hangs_does_not_keep_the_server_from_ending(
    cluster: Cluster, callers: CallerMaker
) -> None:
    hasty = {"agentpost.tasks.shutdown._ALL_SECONDS": 0.0}  # each part has a second
    node = cluster.start(constants=hasty)
    caller = callers(node)
    message = sent_job(caller, ["gate", "g"], ["return", "ok"])
    node.await_gate("g")
    backends = cluster.rows(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid()"
    )
    process, node.process = node.process, None
    assert process is not None
    with freeze(*(int(str(pid)) for (pid,) in backends)):
        try:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 1, "not everything could be brought to an end"
        finally:
            process.kill()
    node.open_gate("g")
    node.start()
    assert caller.final(message["id"], PATIENCE)["status"] == "completed"
