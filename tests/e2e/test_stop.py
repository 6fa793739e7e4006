"""Stopping a server: in order when asked to, at once when asked again."""

import json
import resource
import signal
import socket
import threading
import time
from contextlib import suppress

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.forking import Process
from tests.waiting import PATIENCE, PROMPT, eventually

HASTY = {"agentpost.server.STOP_SECONDS": 1.0}
"""Of each part, where one does not end in time."""


def ready(server: AgentServer) -> bool:
    try:
        return httpx2.get(f"{server.url}/readyz", timeout=2).status_code == 200
    except httpx2.TransportError:
        return False


def block(server: AgentServer) -> Process:
    """Let an agent block its loop, which takes seconds to give up."""
    caller = Caller(server)
    threading.Thread(target=_post_in_vain, args=(caller,), daemon=True).start()
    eventually(lambda: "agent_loop_stalled" in server.log_tail())
    assert server.process is not None
    return server.process


def _post_in_vain(caller: Caller) -> None:
    """Post a message to a server that is about to end: it may answer or not."""
    with suppress(httpx2.TransportError):
        caller.http.post("/v1/messages", json={"message": json.dumps([["block", 60]])})


def test_a_second_ctrl_c_ends_the_server_at_once(start_server: ServerMaker) -> None:
    server = start_server()
    process = block(server)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # the same one, by another way
    eventually(lambda: not ready(server))
    assert process.poll() is None, "it was asked once"

    def ended() -> bool:
        process.send_signal(signal.SIGINT)
        return process.poll() is not None

    began = time.monotonic()
    eventually(ended)
    server.process = None
    assert process.poll() == 128 + signal.SIGINT
    assert time.monotonic() - began < PROMPT


def test_a_part_that_fails_does_not_keep_the_rest_from_ending(start_server: ServerMaker) -> None:
    """An agent blocks its loop and the disk is full: the process ends all the same, and the next
    one takes up what was left."""
    server = start_server(constants=HASTY)
    process = block(server)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    assert server.stop() == 1, "not everything could be brought to an end"
    server.start()
    eventually(lambda: "turn_takeover" in server.log_tail())


def test_cleaning_up_by_an_author_is_not_recorded(start_server: ServerMaker) -> None:
    """Else the next start would find a call in the record that its run does not make."""
    server = start_server(turn_reply_seconds=0.1)
    caller = Caller(server)
    job = [["step_tidied", "job.0", "long"], ["write", "report.txt", "text"]]
    started = caller.send([["start", "Tidy", job]])
    server.await_gate("long")
    turn = [["step_tidied", "turn.0", "long turn"], ["write", "reply.txt", "text"]]
    message = caller.send(turn, conversation="other")
    server.await_gate("long turn")
    assert server.stop() == 0
    server.open_gate("long")
    server.open_gate("long turn")
    server.start()
    for each in (started, message):
        assert caller.final(each["id"])["status"] == "completed"
    steps = [entry.get("step") for entry in caller.log(started["id"])]
    assert "cleaning up" not in steps
    assert not [line for line in server.trace() if "tidied" in line]


def test_stops_in_order_are_not_held_against_a_job(start_server: ServerMaker) -> None:
    """Only nodes that died count (design: Ownership)."""
    server = start_server(constants={"agentpost.nodes.poison_rules.DEATHS_MAX": 2})
    caller = Caller(server)
    message = caller.send([["start", "Long", [["step_gate", "long.0", "deploys"]]]])
    for _ in range(3):
        eventually(lambda: server.has_reached("deploys"))
        (server.gates / "deploys.reached").unlink()
        assert server.stop() == 0
        server.start()
    assert server.rows("SELECT state, takeovers FROM jobs") == [
        {"state": "running", "takeovers": 0}
    ]
    server.open_gate("deploys")
    assert caller.final(message["id"])["status"] == "completed"


def test_a_thread_that_hangs_does_not_hold_up_the_end(start_server: ServerMaker) -> None:
    """Threads of the agent loop cannot be ended; the process leaves without them."""
    server = start_server(constants=HASTY)
    caller = Caller(server)
    message = caller.send([["start", "Hangs", [["threaded", "hangs.0", 60]]]])
    eventually(lambda: len(server.trace()) == 1)
    began = time.monotonic()
    assert server.stop() == 1, "not everything could be brought to an end"
    assert time.monotonic() - began < PATIENCE / 2, "half of what the thread takes"
    server.start()
    eventually(lambda: len(server.trace()) == 2, what="the step's second run")
    assert caller.get(message["id"])["status"] == "processing"


def test_a_store_that_does_not_answer_does_not_hold_up_the_end(
    start_server: ServerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call to it hangs when everything else has ended, in a thread nobody waits for."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"s3://bucket?endpoint=http://127.0.0.1:{port}&region=us-east-1"
        server = start_server(storage_url=url, constants=HASTY)
        silent.settimeout(PATIENCE)
        asked, _ = silent.accept()  # abandoned uploads are looked for at the start
        with asked:
            began = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - began < PROMPT
