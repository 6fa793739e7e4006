"""Calls that OpenAI's clients repeat on a timeout or a broken connection, without a key."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.server import KEY, AgentServer
from tests.forking import SetClock
from tests.libraries import openai
from tests.servers import Postgres
from tests.waiting import PATIENCE

ROUNDS = 6


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> SetClock:
    return SetClock(tmp_path_factory.mktemp("clock") / "clock")


@pytest.fixture(scope="module")
def databases() -> Iterator[ExitStack]:
    """They outlive the servers."""
    with ExitStack() as opened:
        yield opened


@pytest.fixture(scope="module", params=["sqlite", "postgres, two nodes"])
def nodes(
    request: pytest.FixtureRequest,
    databases: ExitStack,
    start_server: Callable[..., AgentServer],
    clock: SetClock,
) -> list[AgentServer]:
    """Two places to send a call to; one server is both of them on SQLite."""
    if request.param == "sqlite":
        return [start_server(clock=clock.file)] * 2
    postgres: Postgres = request.getfixturevalue("postgres")
    url = databases.enter_context(postgres.database(postgres.schema()))
    folder: Path = request.getfixturevalue("tmp_path_factory").mktemp("data")
    settings: dict[str, Any] = {"database_url": url, "clock": clock.file, "data_dir": folder}
    return [start_server(**settings), start_server(**settings)]


def post(server: AgentServer, body: dict[str, Any], count: int | None, key: str = KEY) -> str:
    """The id of the response."""
    headers = {"Authorization": f"Bearer {key}"}
    if count is not None:
        headers["x-stainless-retry-count"] = str(count)
    url = f"{server.url}/openai/v1/responses"
    answer = httpx2.post(url, json=body, headers=headers, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    made: str = answer.json()["id"]
    return made


def body_of(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "agentpost", "input": text, **more}


def test_equal_calls_that_are_meant_are_two_messages(nodes: list[AgentServer]) -> None:
    one, other = nodes
    made = [post(one, body_of("meant"), 0), post(other, body_of("meant"), 0)]
    made += [post(one, body_of("meant"), None), post(other, body_of("meant"), None)]
    assert len(set(made)) == 4
    assert post(other, body_of("meant"), 1) == made[-1], "the newest one is repeated"


def test_a_repeat_is_the_same_response(nodes: list[AgentServer], clock: SetClock) -> None:
    one, other = nodes
    first = post(one, body_of("once"), 0)
    assert post(other, body_of("once"), 1) == post(one, body_of("once"), 2) == first
    assert post(other, body_of("once", user="somebody else"), 1) != first
    clock.set(clock.seconds + 14 * 60)
    assert post(one, body_of("once"), 1) == first
    clock.set(clock.seconds + 2 * 60)
    later = post(other, body_of("once"), 1)
    assert later != first, "a quarter of an hour is over"
    assert post(one, body_of("once"), 2) == later


def test_a_repeat_whose_first_attempt_never_came_makes_a_message(nodes: list[AgentServer]) -> None:
    one, other = nodes
    made = post(one, body_of("lost"), 1)
    assert post(other, body_of("lost"), 2) == made
    assert post(other, body_of("lost"), 0) != made, "a new call, which is meant"


def test_a_repeat_that_overtakes_its_first_attempt(nodes: list[AgentServer]) -> None:
    """They are taken in at once: the first attempt arrived before and was slow."""
    with ThreadPoolExecutor() as threads:
        for n in range(ROUNDS):
            one, other = nodes if n % 2 else reversed(nodes)
            body = body_of(f"overtaken {n}")
            with closing(_Slow(one, body)) as first:
                repeated = threads.submit(post, other, body, 1)
                if n < ROUNDS // 2:
                    repeated.result()
                assert first.finish() == repeated.result()


class _Slow:
    """A first attempt whose body has not come whole."""

    def __init__(self, server: AgentServer, body: dict[str, Any]) -> None:
        data = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        head = (
            f"POST /openai/v1/responses HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {KEY}\r\n"
            f"x-stainless-retry-count: 0\r\nContent-Length: {len(data)}\r\n"
            "Expect: 100-continue\r\nConnection: close\r\n\r\n"
        )
        self._body = data
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        self._socket.sendall(head.encode())
        assert self._socket.recv(100).endswith(b"100 Continue\r\n\r\n"), "it has arrived"

    def finish(self) -> str:
        self._socket.sendall(self._body)
        answer = b"".join(iter(lambda: self._socket.recv(65_536), b""))
        made: str = json.loads(answer.partition(b"\r\n\r\n")[2])["id"]
        return made

    def close(self) -> None:
        self._socket.close()


def test_the_clients_own_repeats_are_one_job(start_server: Callable[..., AgentServer]) -> None:
    """The official client repeats when the server dies, and when a call takes too long."""
    server = start_server()
    text = json.dumps([["start", "Slow", [["gate", "slow"], ["return", "done"]]]])
    url = f"{server.url}/openai/v1"
    with openai.OpenAI(base_url=url, api_key=KEY) as client, ThreadPoolExecutor() as threads:
        call = threads.submit(client.responses.create, model="agentpost", input=text)
        server.await_gate("slow")
        server.kill()
        server.start()
        server.open_gate("slow")
        assert call.result(PATIENCE).output_text.endswith("done")
    hasty = openai.OpenAI(base_url=url, api_key=KEY, timeout=1)
    with hasty as client, pytest.raises(openai.APITimeoutError):
        client.responses.create(model="agentpost", input=text.replace("slow", "never"))
    assert len(server.rows("SELECT id FROM messages")) == 2
    assert len(server.rows("SELECT id FROM jobs")) == 2
