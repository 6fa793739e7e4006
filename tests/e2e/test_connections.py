"""Many connections: idle ones and few open files, and more at once than can be accepted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.raw import answer_on, connect, head, raw
from tests.e2e.server import AgentServer
from tests.freezing import freeze

FILES = 256
IDLE = 400
WAITING = 4


def test_idle_heads_shut_nobody_out(tmp_path: Path) -> None:
    server = AgentServer(tmp_path)
    server.wrapped_by = ("sh", "-c", f'ulimit -n {FILES}; exec "$0" "$@"')
    with server.start(), ExitStack() as open_:
        honest = open_.enter_context(connect(server))
        for n in range(IDLE):
            idle = open_.enter_context(connect(server))
            idle.sendall(b"GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            if n % 20 == 0:  # in use again and again
                honest.sendall(head("GET", "/v1/me"))
                assert answer_on(honest).status == 200
        assert raw(server, head("GET", "/readyz")).status == 200
        body = b'{"message": "hello"}'
        length = f"Content-Length: {len(body)}"
        assert raw(server, head("POST", "/v1/messages", length) + body).status == 201
        idle.sendall(b"y\r\n\r\n")
        assert idle.recv(12) == b"HTTP/1.1 401", "the newest stay"
    log = server.log_tail()
    assert "connections_full" in log
    assert "Too many open files" not in log


def test_more_than_may_wait_to_be_accepted_are_turned_away(
    start_server: ServerMaker, callers: Callable[..., Caller]
) -> None:
    at_once = {"agentpost.http.arrivals.BURST_SECONDS": 0.0}
    server = start_server(connections_waiting_max=WAITING, metrics_token="m", constants=at_once)
    unfinished = head("POST", "/v1/messages", "Content-Length: 9999", key="svc_key_wrong") + b"{"
    wrong_key = head("GET", "/v1/me", key="svc_key_wrong")
    known = head("GET", "/v1/me")
    requests = [unfinished, head("GET", "/readyz"), *[wrong_key] * 9, known, *[wrong_key] * 2]
    with ThreadPoolExecutor(1) as pool, connect(server) as kept, ExitStack() as open_:
        held = pool.submit(callers(server).post, [["gate", "g"], ["reply", "ok"]])
        server.await_gate("g")
        kept.sendall(head("GET", "/v1/me"))
        assert answer_on(kept).status == 200
        lines = []
        with freeze(server.pid):
            for request in requests:
                line = open_.enter_context(connect(server))
                line.sendall(request)
                lines.append(line)
            kept.sendall(head("GET", "/v1/me"))
        answers = [answer_on(line) for line in lines]
        statuses = [answer.status for answer in answers]
        refused = 10
        assert statuses == [503, 200, *[503] * (refused - 1), 200, *[401] * (WAITING // 2)]
        for answer in answers[:1] + answers[2 : 1 + refused]:
            assert answer.body["error"] == "unavailable"
            assert answer.body["request_id"] == answer.headers["request-id"]
            assert 1 <= int(answer.headers["retry-after"]) <= 3
            assert answer.headers["connection"] == "close"
        assert lines[2].recv(1) == b"", "the connection ends"
        assert answer_on(kept).status == 200, "who is connected is served"
        server.open_gate("g")
        assert held.result().status_code == 201, "and so is who waits"
    metrics = raw(server, head("GET", "/metrics", key="m")).body.decode()
    assert f"agentpost_connections_refused_total {refused}.0" in metrics
    assert server.log_file.read_text().count('"connections_refused"') == 1, "one line a minute"
