"""What comes over a socket before and beside a good request (spec: Errors, Authentication)."""

import json
import re

import pytest

from tests.e2e.raw import answer_on, connect, head, raw
from tests.e2e.server import KEY, AgentServer

BODY = b'{"message": "over the wire"}'
LENGTH = f"Content-Length: {len(BODY)}"
CHUNKED = "Transfer-Encoding: chunked"
UPGRADE = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAA")
"""What Java's HTTP client sends with the first request of a connection without TLS."""

NO_REQUEST = {
    "no words": b"hello\r\n\r\n",
    "bytes": bytes(range(128, 256)) + b"\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 3,
    "another version": b"GET /v1/me HTTP/9.9\r\nHost: x\r\n\r\n",
    "no version": b"GET /v1/me\r\n\r\n",
    "version 0.9": b"GET /v1/me HTTP/0.9\r\nHost: x\r\n\r\n",
    "version 2.0": b"GET /v1/me HTTP/2.0\r\nHost: x\r\n\r\n",
    "no host": b"GET /v1/me HTTP/1.1\r\n\r\n",
    "two hosts": head("GET", "/v1/me", "Host: localhost"),
    "two hosts in one": b"GET /v1/me HTTP/1.1\r\nHost: a, b\r\n\r\n",
    "a host that is a path": b"GET /v1/me HTTP/1.0\r\nHost: x/y\r\n\r\n",
    "an offer without a host": b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "a long head in one piece": head("GET", "/v1/me", f"A: {'x' * 20_000}"),
    "parameters without number": head("GET", "/v1/me?" + "a=b&" * 200),
    "headers without number": head("GET", "/v1/me", *("A: b" for _ in range(200))),
    "different headers without number": head(
        "GET", "/v1/me", *(f"X-{n}: y" for n in range(20_000))
    ),
    "two equal lengths": head("POST", "/v1/messages", LENGTH, LENGTH) + BODY,
    "an unknown method": b"BREW /v1/me HTTP/1.1\r\nHost: x\r\n\r\n",
    "CONNECT": b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a header without a colon": b"GET /v1/me HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
    "a header without a name": b"GET /v1/me HTTP/1.1\r\n: x\r\n\r\n",
    "a blank before the colon": b"GET /v1/me HTTP/1.1\r\nHost : x\r\n\r\n",
    "a folded header": b"GET /v1/me HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
    "bare line feeds": b"GET /v1/me HTTP/1.1\nHost: x\n\n",
    "a NUL in a header": head("GET", "/v1/me", key="svc_key_\0"),
    "a control character in the path": b"GET /v1/\x01me HTTP/1.1\r\nHost: x\r\n\r\n",
    "a path that is not ASCII": "GET /v1/ü HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    "a path without end": b"GET /v1/" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "a length that is no number": head("POST", "/v1/messages", "Content-Length: abc"),
    "a length below zero": head("POST", "/v1/messages", "Content-Length: -1"),
    "a length beyond all numbers": head("POST", "/v1/messages", f"Content-Length: {10**30}"),
    "two lengths": head("POST", "/v1/messages", LENGTH, "Content-Length: 1") + BODY,
    "a length and chunks": head("POST", "/v1/messages", LENGTH, CHUNKED) + BODY,
    "an unknown coding": head("POST", "/v1/messages", "Transfer-Encoding: zip") + BODY,
    "a chunk without a size": head("POST", "/v1/messages", CHUNKED) + b"zz\r\nhello\r\n0\r\n\r\n",
    "a chunk beyond all sizes": head("POST", "/v1/messages", CHUNKED) + b"f" * 30 + b"\r\n",
    "headers without end": head("GET", "/v1/me")[:-2] + b"X-Pad: " + b"y" * 1_000_000,
    "trailers without end": head("POST", "/v1/messages", CHUNKED)
    + b"0\r\n"
    + b"X-Pad: y\r\n" * 100_000,
}


@pytest.mark.parametrize("request_", NO_REQUEST.values(), ids=NO_REQUEST.keys())
def test_bytes_that_are_no_request_are_refused_like_all_else(
    server: AgentServer, request_: bytes
) -> None:
    with connect(server) as connection:
        connection.sendall(request_)
        answer = answer_on(connection)
        assert connection.recv(1) == b"", "nothing can follow on this connection"

    assert (answer.status, answer.body["error"]) == (400, "bad_request")
    assert re.fullmatch("req_[0-9a-f]{32}", answer.headers["request-id"])
    assert answer.body["request_id"] == answer.headers["request-id"]
    assert answer.body["docs"].endswith("/docs/errors#bad_request")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("host", ["Host:", "Host: [::1]:8080", "Host: a.example"])
def test_any_one_host_will_do(server: AgentServer, host: str) -> None:
    request = f"GET /healthz HTTP/1.1\r\n{host}\r\n\r\n".encode("latin-1")
    assert raw(server, request).status == 200
    assert raw(server, b"GET /healthz HTTP/1.0\r\n\r\n").status == 200


def test_a_refusal_is_read_by_a_client_that_still_sends(server: AgentServer) -> None:
    """Closing at once would reset the connection, and with it the answer on its way."""
    with connect(server) as connection:
        connection.sendall(b"hello\r\n\r\n" + b"x" * 1_000_000)
        assert answer_on(connection).status == 400


def test_bytes_behind_a_held_read_end_the_connection_after_it(server: AgentServer) -> None:
    script = json.dumps({"message": json.dumps([["start", "job", [["gate", "in the way"]]]])})
    length = f"Content-Length: {len(script)}"
    made = raw(server, head("POST", "/v1/messages", length) + script.encode()).body
    with connect(server) as connection:
        connection.sendall(head("GET", f"/v1/messages/{made['id']}?wait=30"))
        connection.sendall(b"\0\0\0")
        server.open_gate("in the way")
        assert answer_on(connection).status == 200
        assert connection.recv(1) == b""


def test_bytes_inside_a_body_end_its_request(server: AgentServer) -> None:
    with connect(server) as connection:
        connection.sendall(head("POST", "/v1/messages", CHUNKED) + b"5\r\nhello\r\n")
        connection.sendall(b"no chunk\r\n")
        assert answer_on(connection).status == 400
        assert connection.recv(1) == b""


# --- offers to speak another protocol -------------------------------------------------------------
@pytest.mark.parametrize("how", ["at once", "in chunks"])
def test_an_offer_to_upgrade_is_ignored(server: AgentServer, how: str) -> None:
    framing, body = LENGTH, BODY
    if how == "in chunks":
        framing, body = CHUNKED, b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    request = head("POST", "/v1/messages", framing, *UPGRADE)
    with connect(server) as connection:
        connection.sendall(request + body)
        answer = answer_on(connection)
        assert answer.status == 201
        assert answer.body["reply"] == "You said: over the wire"

        for offers in (UPGRADE, ()):
            connection.sendall(head("GET", "/v1/me", *offers))
            assert answer_on(connection).status == 200


def test_the_body_of_such_an_offer_is_no_request(server: AgentServer) -> None:
    inner = head("DELETE", "/v1/messages")
    with connect(server) as connection:
        length = f"Content-Length: {len(inner)}"
        connection.sendall(head("POST", "/v1/messages", length, *UPGRADE))
        connection.sendall(inner)
        assert answer_on(connection).body["error"] == "invalid_request"
        connection.sendall(head("GET", "/v1/me"))
        assert answer_on(connection).status == 200


# --- HTTP/1.0, targets and expectations ---------------------------------------------------------
def old(request: bytes) -> bytes:
    """The same request by HTTP/1.0."""
    return request.replace(b"HTTP/1.1", b"HTTP/1.0", 1)


def test_a_stream_by_http_1_0_ends_with_its_connection(server: AgentServer) -> None:
    made = raw(server, head("POST", "/v1/messages", LENGTH) + BODY).body
    for headers in ((), ("Connection: keep-alive",)):
        with connect(server) as connection:
            connection.sendall(old(head("GET", f"/v1/messages/{made['id']}/stream", *headers)))
            answer = answer_on(connection)
        assert answer.status == 200
        assert "transfer-encoding" not in answer.headers
        assert answer.headers["connection"] == "close"
        assert answer.body.startswith(b"retry: ")
        assert answer.body.endswith(b"event: end\ndata: {}\n\n")


def test_a_connection_by_http_1_0_is_kept_when_asked_for(server: AgentServer) -> None:
    kept = "Connection: keep-alive"
    with connect(server) as connection:
        for request in (head("POST", "/v1/messages", LENGTH, kept) + BODY, head("HEAD", "/", kept)):
            connection.sendall(old(request))
            answer = answer_on(connection, request.split(b" ", 1)[0].decode())
            assert answer.headers["connection"] == "keep-alive"
        connection.sendall(old(head("GET", "/v1/me")))
        assert answer_on(connection).headers["connection"] == "close"
        assert connection.recv(1) == b""


def test_a_chunked_body_by_http_1_0_ends_the_connection(server: AgentServer) -> None:
    """Who forwarded it may mean another end of it (RFC 9112, 6.1)."""
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    request = old(head("POST", "/v1/messages", CHUNKED, "Connection: keep-alive"))
    assert raw(server, request + chunks).headers["connection"] == "close"


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_a_client_that_waits_for_our_word_gets_it(server: AgentServer, version: str) -> None:
    """HTTP/1.0 has no interim responses, so there the body comes unasked."""
    request = head("POST", "/v1/messages", LENGTH, "Expect: 100-continue")
    with connect(server) as connection:
        connection.sendall(request if version == "1.1" else old(request))
        if version == "1.1":
            assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert connection.recv(12) == b"HTTP/1.1 201"


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "http://localhost/v1/me", 200),
        ("GET", "HTTP://other.example:80/v1/me?a=b", 200),
        ("HEAD", "http://localhost", 303),
        ("OPTIONS", "*", 204),
        ("GET", "*", 405),
    ],
)
def test_targets_in_other_forms(server: AgentServer, method: str, target: str, status: int) -> None:
    answer = raw(server, head(method, target))
    assert answer.status == status
    assert ("allow" in answer.headers) == (target == "*")


# --- who is asking --------------------------------------------------------------------------------
def test_a_trailer_is_no_header(server: AgentServer) -> None:
    request = head("POST", "/v1/messages", CHUNKED, key=None)
    body = b"%x\r\n%s\r\n0\r\nAuthorization: Bearer %s\r\n\r\n" % (len(BODY), BODY, KEY.encode())
    assert raw(server, request + body).status == 401


@pytest.mark.parametrize("others", [KEY, "svc_key_unknown", ""])
def test_two_keys_are_none(server: AgentServer, others: str) -> None:
    for first, second in ((KEY, others), (others, KEY)):
        headers = [f"Authorization: Bearer {key}" for key in (first, second)]
        answer = raw(server, head("GET", "/v1/me", *headers, key=None))
        assert (answer.status, answer.body["error"]) == (401, "unauthorized")


def test_an_id_that_a_client_sends_is_not_ours(server: AgentServer) -> None:
    sent = "req_" + "0" * 32
    answer = raw(server, head("GET", "/v1/nowhere", f"Request-Id: {sent}"))
    assert answer.headers["request-id"] != sent
