"""Large, slow and broken bodies on a real connection (design: Bodies)."""

import base64
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentpost.domain.limits import LARGE_BODIES_REFUSED_PER_MINUTE
from agentpost.http.bodies import COUNTED_BYTES, LARGE_BODIES_PER_ACCOUNT_MAX, LARGE_BYTES
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.raw import answer_on, connect, head
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT, eventually

IDLE_SECONDS = 2.0
BODY_MAX = 4_000_000
LARGE = b'{"message": "' + b" " * 2 * LARGE_BYTES
MESSAGE = {"message": "x", "files": [{"name": "a.txt", "base64": "YWFh" * LARGE_BYTES}]}
SETTINGS = {"body_bytes_max": BODY_MAX, "body_idle_seconds": IDLE_SECONDS}


@pytest.fixture
def patient(start_server: ServerMaker) -> AgentServer:
    """One that waits for a body's next byte longer than any test takes."""
    return start_server(body_idle_seconds=600)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.fixture
def idle() -> Iterator[ExitStack]:
    """Connections that send no more are closed with it."""
    with ExitStack() as connections:
        yield connections


def stop_midway(server: AgentServer, idle: ExitStack, sent: bytes) -> socket.socket:
    connection = idle.enter_context(connect(server))
    connection.sendall(head("POST", "/v1/messages", "Transfer-Encoding: chunked") + chunk(sent))
    return connection


# --- places ---------------------------------------------------------------------------------------
def test_idle_bodies_of_one_account_leave_places_to_others(
    patient: AgentServer, callers: type[Caller], idle: ExitStack
) -> None:
    for _ in range(8):
        stop_midway(patient, idle, LARGE)
    other = callers(patient, patient.new_key("other"))
    assert other.call("POST", "/v1/messages", json=MESSAGE).status_code == 201


def test_announcing_a_large_body_takes_no_place(
    server: AgentServer, caller: Caller, idle: ExitStack
) -> None:
    for _ in range(4 * LARGE_BODIES_PER_ACCOUNT_MAX):
        connection = idle.enter_context(connect(server))
        connection.sendall(head("POST", "/v1/messages", f"Content-Length: {BODY_MAX}") + b"{")
        stop_midway(server, idle, b"{")
    assert caller.call("POST", "/v1/messages", json=MESSAGE).status_code == 201


def test_an_account_has_few_large_bodies_refused(
    server: AgentServer, caller: Caller, callers: type[Caller]
) -> None:
    """Reading them is work. Those that are fine count for nothing."""
    sender = callers(server, server.new_key("other"))
    for _ in range(LARGE_BODIES_REFUSED_PER_MINUTE + 1):
        assert sender.call("POST", "/v1/messages", json=MESSAGE).status_code == 201
    huge = {
        **MESSAGE,
        "files": [{"name": "a.txt", "base64": "YWFh" * (COUNTED_BYTES // 4 + 99_999)}],
    }
    for _ in range(LARGE_BODIES_REFUSED_PER_MINUTE + 1):
        sender.refusal(
            400, "invalid_request", "POST", "/v1/messages", json={**MESSAGE, "message": 1}
        )
    broken = {**huge, "message": 1}
    for _ in range(LARGE_BODIES_REFUSED_PER_MINUTE):
        sender.refusal(400, "invalid_request", "POST", "/v1/messages", json=broken)
    answer = sender.call("POST", "/v1/messages", json=huge)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
    assert sender.call("POST", "/v1/messages", json=MESSAGE).status_code == 201
    assert sender.send("a small one")["status"] == "completed"
    assert caller.call("POST", "/v1/messages", json=MESSAGE).status_code == 201


@pytest.mark.parametrize("step", [1_000, 70_000, 10**9])
def test_the_same_large_body_is_the_same_message(caller: Caller, step: int) -> None:
    """However it comes in pieces, and with escapes that JSON allows (spec: createMessage 2)."""
    text = base64.b64encode(bytes(range(251)) * 1_000).decode()
    script = json.dumps([["see"]])
    file = {"name": "a.bin", "base64": text}
    plain = json.dumps({"message": script, "files": [file]}).encode()
    escaped = plain.replace(b"/", b"\\/").replace(b"+", b"\\u002B")
    answers = [
        caller.call(
            "POST",
            "/v1/messages",
            content=(body[at : at + step] for at in range(0, len(body), step)),
            headers={"Idempotency-Key": f"pieces of {step}"},
        )
        for body in (plain, escaped)
    ]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert json.loads(answers[1].json()["reply"])["files"][0]["size"] == 251_000


def test_the_name_of_a_field_of_a_large_body_has_its_limit_too(
    start_server: ServerMaker, callers: type[Caller]
) -> None:
    """What stands for a long name while a large body is parsed is short, and no name."""
    caller, long = callers(start_server()), "metadata." + "k" * 191
    for names, field in (
        (["k" * 9_000], long),
        (["k" * 70_000], long),
        (["k" * 9_000] * 2, "k" * 200),
        (["\0" * 9_000], "metadata"),
    ):
        pairs = ", ".join(f'{json.dumps(name)}: "v"' for name in names)
        body = f'{{"message": "x{" " * 2 * LARGE_BYTES}", "metadata": {{{pairs}}}}}'
        refused = caller.refusal(400, "invalid_request", "POST", "/v1/messages", content=body)
        assert [problem["field"] for problem in refused["problems"]] == [field]


# --- slow and broken ones -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path", "framing"),
    [
        ("/v1/messages", "Content-Length: 100"),
        ("/v1/messages", "Transfer-Encoding: chunked"),
        ("/v1/webhooks", "Content-Length: 100"),
    ],
)
def test_a_body_that_stops_is_refused_and_cut_off(
    server: AgentServer, path: str, framing: str
) -> None:
    body = chunk(b'{"message": ') if "chunked" in framing else b'{"message": '
    with connect(server) as connection:
        connection.sendall(head("POST", path, framing) + body)
        answer = answer_on(connection)
        assert (answer.status, answer.body["error"]) == (400, "invalid_request")
        assert "no part of the body arrived for 2 seconds" in answer.body["problems"][0]["problem"]


def test_a_body_without_an_end_leaves_its_place(
    server: AgentServer, caller: Caller, idle: ExitStack
) -> None:
    """Whatever one key has begun and left, it gets its places back."""
    left = [stop_midway(server, idle, LARGE) for _ in range(LARGE_BODIES_PER_ACCOUNT_MAX)]
    for connection in left:
        assert answer_on(connection).status == 400
    assert caller.call("POST", "/v1/messages", json=MESSAGE).status_code == 201


def test_bytes_after_the_declared_length_are_another_request(server: AgentServer) -> None:
    with connect(server) as connection:
        connection.sendall(
            head("POST", "/v1/messages", "Content-Length: 2") + b"{} and more\r\n\r\n"
        )
        answer = answer_on(connection)
        assert (answer.status, answer.body["error"]) == (400, "empty_message")
        assert connection.recv(1) == b""


# --- over the limit -------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/v1/webhooks", "/v1/uploads"])
def test_only_messages_may_be_large(server: AgentServer, caller: Caller, path: str) -> None:
    body = {"filename": "x" * LARGE_BYTES, "size": 1, "url": "https://example.com"}
    caller.refusal(413, "too_large", "POST", path, json=body)
    with connect(server) as connection:
        connection.sendall(head("POST", path, "Transfer-Encoding: chunked") + chunk(LARGE))
        assert answer_on(connection).status == 413


@pytest.mark.parametrize("key", ["svc_key_test", "svc_key_unknown"])
def test_a_client_that_sends_all_before_it_reads_sees_the_answer(
    server: AgentServer, key: str
) -> None:
    """Cut off while it sends, it would see a broken connection and try again, for ever."""
    size = BODY_MAX + 8_000_000
    with connect(server) as connection:
        connection.sendall(head("POST", "/v1/messages", f"Content-Length: {size}", key=key))
        connection.sendall(b" " * size)
        answer = answer_on(connection)
        assert answer.status == (413 if key == "svc_key_test" else 401)
        assert answer.headers["connection"] == "close"
        assert connection.recv(1) == b""


def test_a_client_that_asks_first_is_spared_the_sending(server: AgentServer) -> None:
    size = f"Content-Length: {BODY_MAX + 1}"
    began = time.monotonic()
    with connect(server) as connection:
        connection.sendall(head("POST", "/v1/messages", size, "Expect: 100-continue"))
        assert answer_on(connection).status == 413
        assert connection.recv(1) == b""
    assert time.monotonic() - began < PROMPT


def test_a_short_body_that_nobody_read_costs_no_connection(server: AgentServer) -> None:
    with connect(server) as connection:
        for _ in range(3):
            connection.sendall(head("POST", "/v1/nothing", "Content-Length: 3") + b"{}\n")
            assert answer_on(connection).status == 404


# --- memory ---------------------------------------------------------------------------------------
def resident_kib(server: AgentServer) -> int:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1])


def test_a_held_call_does_not_hold_its_files(
    start_server: ServerMaker, callers: type[Caller], idle: ExitStack
) -> None:
    """Once they are stored, the body, its JSON and the decoded bytes are let go."""
    server = start_server(turn_reply_seconds=120, requests_per_minute=10_000)
    caller, held = callers(server), 12
    text, data = json.dumps([["gate", "held"]]), "YWFh" * 2_500_000  # 10 MB in base64
    warm = {"message": "x", "files": [{"name": "a.txt", "base64": data}]}
    for _ in range(2):
        assert caller.call("POST", "/v1/messages", json=warm).status_code == 201
    before = resident_kib(server)

    for n in range(held):
        body = {**warm, "message": text, "conversation": str(n)}
        payload = json.dumps(body).encode()
        connection = idle.enter_context(connect(server))
        connection.sendall(
            head("POST", "/v1/messages", f"Content-Length: {len(payload)}") + payload
        )

    def begun() -> bool:
        found = [e for e in server.home.rglob("blobs/*/*/*") if e.is_file()]
        return len(found) == 2 + held

    eventually(begun, what="the stored files")
    eventually(lambda: server.has_reached("held"), what="the agent")
    # Together they brought 120 MB; the allocator may keep what reading a few of them took.
    eventually(lambda: resident_kib(server) - before < 60_000, what="letting go of what was stored")
    server.open_gate("held")
