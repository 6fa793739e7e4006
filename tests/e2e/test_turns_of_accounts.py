"""Calls of one account that are there at once do not all go before that of another account."""

import json
import socket
from contextlib import ExitStack

from tests.e2e.raw import answer_on, connect, head
from tests.e2e.server import KEY, AgentServer
from tests.freezing import freeze

CALLS = 24
TRIES = 5
"""A look for a key among these calls makes them come one by one: there is one each second."""
BODY = json.dumps({"message": "x" * 20_000}).encode()


def test_a_call_of_another_account_does_not_wait_for_all_of_one(plain_server: AgentServer) -> None:
    quiet_key = plain_server.new_key("quiet")
    with ExitStack() as until:
        lines = [until.enter_context(connect(plain_server)) for _ in range(CALLS + 1)]
        keys = [KEY] * CALLS + [quiet_key]
        known = list(zip(lines, keys, strict=True))
        for line, key in known:
            look_up(line, key)
        tries = (messages_before(plain_server, known) for _ in range(TRIES))
        assert any(before < CALLS / 2 for before in tries)


def look_up(line: socket.socket, key: str) -> None:
    """A call after which the server knows the key."""
    line.sendall(head("GET", "/v1/me", key=key))
    assert answer_on(line).status == 200


def messages_before(server: AgentServer, known: list[tuple[socket.socket, str]]) -> int:
    """How many of the calls that arrive together, that of the other account last, make their
    message before that one does."""
    for line, key in (known[0], known[-1]):
        look_up(line, key)
    with freeze(server.pid):  # what is sent waits in its sockets
        for line, key in known:
            length = f"Content-Length: {len(BODY)}"
            line.sendall(head("POST", "/v1/messages?wait=0", length, key=key) + BODY)
    answers = [answer_on(line) for line, _ in known]
    assert {answer.status for answer in answers} == {201}
    ids = [answer.body["id"] for answer in answers]
    return sorted(ids).index(ids[-1])
