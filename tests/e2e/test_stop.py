"""Stopping a server: in order when asked to, at once when asked again."""

import resource
import signal
import subprocess
import threading
import time

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer, until


def ready(server: AgentServer) -> bool:
    try:
        return httpx2.get(f"{server.url}/readyz", timeout=2).status_code == 200
    except httpx2.TransportError:
        return False


def block(server: AgentServer) -> subprocess.Popen[bytes]:
    """Let an agent block its loop, which takes seconds to give up."""
    caller = Caller(server)
    threading.Thread(target=_post_in_vain, args=(caller,), daemon=True).start()
    until(lambda: "agent_loop_stalled" in server.log_tail())
    assert server.process is not None
    return server.process


def _post_in_vain(caller: Caller) -> None:
    with pytest.raises(httpx2.TransportError):
        caller.post([["block", 60]])
    caller.close()


def test_a_second_ctrl_c_ends_the_server_at_once(start_server: ServerMaker) -> None:
    server = start_server()
    process = block(server)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # the same one, by another way
    until(lambda: not ready(server))
    assert process.poll() is None, "it was asked once"

    def ended() -> bool:
        process.send_signal(signal.SIGINT)
        return process.poll() is not None

    began = time.monotonic()
    until(ended)
    server.process = None
    assert process.returncode == 128 + signal.SIGINT
    assert time.monotonic() - began < 3


def test_what_fails_does_not_keep_the_rest_from_ending(start_server: ServerMaker) -> None:
    """An agent blocks its loop and the disk is full: the process ends all the same, and the next
    one takes up what was left."""
    server = start_server()
    process = block(server)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    assert server.stop() == 1, "not everything could be brought to an end"
    server.start()
    until(lambda: "turn_taken_up" in server.log_tail())
