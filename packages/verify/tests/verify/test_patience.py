"""Who keeps a run busy without ever coming to an end does not hold it up."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agentpost_verify import probe as calls
from agentpost_verify.answers import Difference
from agentpost_verify.checks import deliveries
from agentpost_verify.probe import Probe
from agentpost_verify.receiver import Attempt, Receiver

DRIP_SECONDS = 0.02
ENOUGH = 30.0
"""Seconds after which the endless side gives up: a test fails then rather than hang."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


@contextmanager
def dripping(at_once: bytes, drop: bytes) -> Iterator[tuple[str, threading.Event]]:
    """A server that sends ``at_once``, then drop after drop; its address, and whether its caller
    hung up."""
    hung_up, over = threading.Event(), threading.Event()

    def serve(listener: socket.socket) -> None:
        line, _ = listener.accept()
        with line:
            line.recv(65536)
            try:
                line.sendall(at_once)
                for _ in range(int(ENOUGH / DRIP_SECONDS)):
                    if over.wait(DRIP_SECONDS):
                        return
                    line.sendall(drop)
            except OSError:
                hung_up.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", hung_up
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    ("at_once", "drop"),
    [(HEAD, b"x"), (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), (b"", b"HTTP/1.1 102 Wait\r\n\r\n")],
    ids=["body", "head", "interim"],
)
def test_an_answer_that_drips_is_cut_off(
    at_once: bytes, drop: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "CALL_SECONDS_MAX", 0.3)
    with dripping(at_once, drop) as (url, hung_up):
        client = Probe(url, "svc_key_1", "nonce", 1, lambda _: None)
        with pytest.raises(Difference, match=r"within 0.3 s, got no end of it"):
            client.call("GET", "/v1/me")
        assert hung_up.wait(ENOUGH)


def test_a_file_has_longer_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "CALL_SECONDS_MAX", 0.0)
    monkeypatch.setattr(calls, "TRANSFER_SECONDS_MAX", 0.3)
    with dripping(HEAD, b"x") as (url, _):
        client = Probe("http://server.test", "svc_key_1", "nonce", 1, lambda _: None)
        with pytest.raises(Difference, match=r"within 0.3 s, got no end of it"):
            client.fetch(f"{url}/f")


class Busy(Receiver):
    """An event of somebody else comes again and again."""

    def at(self, path: str, word: str = "") -> list[Attempt]:
        count = len(self.got)
        assert count < ENOUGH / DRIP_SECONDS, "waiting went on for as long as events came"
        self.got.append(Attempt(path, {"webhook-id": f"evt_{count}"}, b"{}"))
        return super().at(path, word)


def test_events_of_others_prolong_no_waiting() -> None:
    hooks = Busy("http://hooks.test")
    assert hooks.await_count(deliveries.OTHER, 1, 0.2, "evt_ours") == []
    hooks.got.append(Attempt(deliveries.OTHER, {"webhook-id": "evt_ours"}, b"{}"))
    assert len(hooks.await_count(deliveries.OTHER, 1, 0.2, "evt_ours")) == 1
