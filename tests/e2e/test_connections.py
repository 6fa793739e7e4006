"""Many idle connections and few open files: those who send something are answered."""

from contextlib import ExitStack
from pathlib import Path

from tests.e2e.raw import answer_on, connect, head, raw
from tests.e2e.server import AgentServer

FILES = 256
IDLE = 400


def test_idle_heads_shut_nobody_out(tmp_path: Path) -> None:
    server = AgentServer(tmp_path)
    server.wrapped_by = ("sh", "-c", f'ulimit -n {FILES}; exec "$0" "$@"')
    server.start()
    try:
        with ExitStack() as open_:
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
    finally:
        server.stop()
    assert "connections_full" in log
    assert "Too many open files" not in log
