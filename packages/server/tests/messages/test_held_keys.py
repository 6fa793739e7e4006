"""Held calls end with their key: revoked elsewhere, or expired (spec: Authentication 3)."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import ACCOUNT, AgentServer
from tests.waiting import PATIENCE, PROMPT, eventually

HELD = ("read", "log", "post")
CallerMaker = Callable[..., Caller]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as made:
        yield made


def made_key(server: AgentServer, *options: str) -> dict[str, Any]:
    made: dict[str, Any] = server.command(
        "keys", "create", "--account", ACCOUNT, "--name", "held", *options
    )
    return made


def hold(pool: ThreadPoolExecutor, caller: Caller, held: str, gate: str) -> Future[Any]:
    """Send a call that is held until the gate opens; returns when it is on its way."""
    script = json.dumps([["gate", gate], ["reply", "in time"]])
    if held == "post":
        return pool.submit(caller.call, "POST", "/v1/messages", json={"message": script})
    waits = json.dumps([["start", "Work", [["gate", gate]]]])
    made = caller.call("POST", "/v1/messages", json={"message": waits}).json()
    path = f"/v1/messages/{made['id']}"
    if held == "read":
        return pool.submit(caller.call, "GET", f"{path}?wait=45")
    cursor = caller.call("GET", f"{path}/events").json()["cursor"]
    return pool.submit(caller.call, "GET", f"{path}/events?wait=45&cursor={cursor}")


def refusal_of(answer: httpx2.Response) -> tuple[int, str, str]:
    assert "RateLimit-Limit" not in answer.headers
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    return answer.status_code, answer.json()["error"], answer.json()["message"]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Authentication 3")
@pytest.mark.parametrize("held", HELD)
def test_a_revoked_key_ends_its_held_calls(
    server: AgentServer, callers: CallerMaker, pool: ThreadPoolExecutor, held: str
) -> None:
    made, gate = made_key(server), f"revoked-{held}"
    caller = callers(server, made["key"])
    call = hold(pool, caller, held, gate)
    server.await_gate(gate)
    try:
        server.command("keys", "revoke", made["id"])
        answer = call.result(timeout=PROMPT)
    finally:
        server.open_gate(gate)
    unknown = callers(server, "svc_key_unknown").call("GET", "/v1/me")
    assert refusal_of(answer) == refusal_of(unknown) == refusal_of(caller.call("GET", "/v1/me"))


def test_a_key_may_expire_while_its_calls_are_held(
    server: AgentServer, callers: CallerMaker, pool: ThreadPoolExecutor
) -> None:
    for seconds in (4, 12, 25):  # on a slow machine the first may end before its calls are held
        made = made_key(server, "--expires", f"{seconds}s")
        gates, calls = [f"expired-{held}-{seconds}" for held in HELD], []
        with suppress(KeyError):  # what was to be held was refused
            for held, gate in zip(HELD, gates, strict=True):
                calls.append(hold(pool, callers(server, made["key"]), held, gate))
                eventually(lambda g=gate, c=calls[-1]: server.has_reached(g) or c.done())  # type: ignore[misc]
        if all(server.has_reached(gate) for gate in gates):
            break
    try:
        for call, gate in zip(calls, gates, strict=True):
            assert server.has_reached(gate)
            assert refusal_of(call.result(seconds + PROMPT))[:2] == (401, "unauthorized")
    finally:
        for gate in gates:
            server.open_gate(gate)


def test_the_calls_of_other_keys_go_on(
    server: AgentServer, callers: CallerMaker, pool: ThreadPoolExecutor
) -> None:
    revoked, live = made_key(server), made_key(server)
    ending = hold(pool, callers(server, revoked["key"]), "post", "others")
    going_on = hold(pool, callers(server, live["key"]), "post", "others")
    server.await_gate("others")
    server.command("keys", "revoke", revoked["id"])
    assert ending.result(timeout=PROMPT).status_code == 401
    server.open_gate("others")
    answer = going_on.result(timeout=PATIENCE)
    assert (answer.status_code, answer.json()["reply"]) == (201, "in time")


def test_a_message_accepted_before_its_key_ended_stands(
    server: AgentServer, callers: CallerMaker, pool: ThreadPoolExecutor
) -> None:
    """The message and its files stay, and nothing says that its reply was in the refused answer."""
    made = made_key(server)
    script = [["gate", "stands"], ["read"]]
    body = {"message": json.dumps(script), "files": [{"name": "a.txt", "base64": "a2VwdA=="}]}
    call = pool.submit(callers(server, made["key"]).call, "POST", "/v1/messages", json=body)
    server.await_gate("stands")
    server.command("keys", "revoke", made["id"])
    assert call.result(timeout=PROMPT).status_code == 401
    server.open_gate("stands")

    sent = f"FROM messages WHERE key_id = '{made['id']}'"
    eventually(lambda: server.rows(f"SELECT 1 {sent} AND final = 1"), what="the reply")
    assert [row["reply"] for row in server.rows(f"SELECT reply {sent}")] == ["kept"]
    [entry] = server.rows(f"SELECT body_json FROM entries WHERE message_id IN (SELECT id {sent})")
    assert json.loads(entry["body_json"])["delivered_sync"] is False


def test_a_body_that_comes_after_its_key_was_revoked_is_no_message(
    server: AgentServer, callers: CallerMaker
) -> None:
    made = made_key(server)
    caller = callers(server, made["key"])

    def body() -> Iterator[bytes]:
        yield b'{"message": '
        server.command("keys", "revoke", made["id"])
        eventually(lambda: caller.call("GET", "/v1/me").status_code == 401)
        yield b'"too late"}'

    answer = caller.call("POST", "/v1/messages", content=body())
    assert refusal_of(answer)[:2] == (401, "unauthorized")
    assert not server.rows(f"SELECT 1 FROM messages WHERE key_id = '{made['id']}'")
