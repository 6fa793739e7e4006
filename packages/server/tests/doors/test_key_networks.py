"""A key with an allow-list is refused from elsewhere, at every door and before the body."""

import asyncio
from collections.abc import Callable
from functools import partial

import httpx2
import pytest

from tests import forking
from tests.e2e.caller import Caller
from tests.e2e.server import ACCOUNT, AgentServer
from tests.waiting import eventually

HERE, ELSEWHERE = "203.0.113.9", "198.51.100.7"
SETTINGS = {"trusted_proxies": "127.0.0.1"}


@pytest.fixture(scope="module")
def key(server: AgentServer) -> str:
    named = ("--account", ACCOUNT, "--name", "office")
    nets = ("--allow-ip", "203.0.113.0/24", "--allow-ip", "2001:db8::/32")
    made = server.command("keys", "create", *named, *nets)
    assert made["allow_ips"] == ["203.0.113.0/24", "2001:db8::/32"]
    secret: str = made["key"]
    return secret


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/me"),
        ("POST", "/v1/messages"),
        ("POST", "/mcp"),
        ("POST", "/a2a"),
        ("POST", "/openai/v1/responses"),
    ],
)
@pytest.mark.rule("Additions allow-list")
def test_every_door_refuses_another_address(
    server: AgentServer, key: str, method: str, path: str
) -> None:
    headers = {"Authorization": f"Bearer {key}", "X-Forwarded-For": ELSEWHERE}
    with httpx2.Client(base_url=server.url, trust_env=False) as client:
        answer = client.request(method, path, headers=headers, content=b"{")
    assert answer.status_code == 403
    body = answer.json()
    body = body if path.startswith("/v1") else body["error"]
    assert f"may not be used from the address {ELSEWHERE}. " in body["message"]
    assert "allow-list" in body["message"]
    assert "forbidden" in (body.get("error"), body.get("code"), body.get("data", {}).get("error"))
    assert "RateLimit-Limit" in answer.headers


@pytest.mark.parametrize(
    ("forwarded", "status"),
    [
        (HERE, 200),
        (f"::ffff:{HERE}", 200),
        ("2001:db8::17", 200),
        (f"{ELSEWHERE}, {HERE}", 200),
        (f"{HERE}, {ELSEWHERE}", 403),
        ("2001:db9::17", 403),
        ("nonsense", 403),
        (None, 403),
    ],
)
def test_the_address_is_what_trusted_proxies_say(
    server: AgentServer, key: str, forwarded: str | None, status: int
) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    if forwarded is not None:
        headers["X-Forwarded-For"] = forwarded
    with httpx2.Client(base_url=server.url, trust_env=False) as client:
        assert client.get("/v1/me", headers=headers).status_code == status


def test_the_body_is_not_waited_for_and_the_account_sees_the_refusal(
    server: AgentServer, key: str, callers: Callable[..., Caller]
) -> None:
    async def begin() -> bytes:
        host, _, port = server.url.rpartition("/")[2].partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = (
            f"POST /v1/messages HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
            f"X-Forwarded-For: {ELSEWHERE}\r\nContent-Length: 1000\r\n\r\n"
        )
        writer.write(head.encode())
        answer = await asyncio.wait_for(reader.readline(), 60)
        writer.close()
        return answer

    assert b" 403 " in asyncio.run(begin())

    caller = callers(server, server.another_key("sees all", "read,read_all"))

    def logged() -> bool:
        found = caller.call("GET", "/v1/requests?status=403").json()["data"]
        return any((each["path"], each["error"]) == ("/v1/messages", "forbidden") for each in found)

    eventually(logged)


def is_refused(caller: Caller) -> bool:
    return caller.call("GET", "/v1/me").status_code == 401


@pytest.mark.rule("Additions rotate")
def test_a_list_may_change_and_a_rotated_key_is_the_same_key(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    made = server.command("keys", "create", "--account", ACCOUNT, "--name", "moving")
    first = callers(server, made["key"])
    sent = first.call(
        "POST", "/v1/messages", json={"message": "hello"}, headers={"Idempotency-Key": "once"}
    ).json()
    rotated = server.command("keys", "rotate", made["id"], "--overlap", "1h")
    assert rotated["id"] == made["id"]
    assert rotated["old_until"]
    second = callers(server, rotated["key"])
    again = second.call(
        "POST", "/v1/messages", json={"message": "hello"}, headers={"Idempotency-Key": "once"}
    )
    assert (again.status_code, again.json()["id"]) == (200, sent["id"])
    assert first.call("GET", f"/v1/messages/{sent['id']}").status_code == 200

    third = callers(server, server.command("keys", "rotate", made["id"], "--overlap", "0")["key"])
    assert third.call("GET", "/v1/me").status_code == 200
    for ended in (first, second):
        eventually(partial(is_refused, ended))
    server.command("keys", "allow", made["id"], "--ip", HERE)
    eventually(lambda: third.call("GET", "/v1/me").status_code == 403)
    server.command("keys", "allow", made["id"], "--from-everywhere")
    eventually(lambda: third.call("GET", "/v1/me").status_code == 200)


def test_a_proxy_that_is_not_trusted_is_named(start_server: Callable[..., AgentServer]) -> None:
    """The setting may have bits behind a prefix."""
    server = start_server(trusted_proxies="10.0.0.1/8")
    with httpx2.Client(base_url=server.url, trust_env=False) as client:
        page = client.get("/login", headers={"X-Forwarded-For": HERE}).text
    assert "the proxy 127.0.0.1 is not" in page
    done = forking.run(["doctor"], env=server._environment(), cwd=server.home)
    assert "127.0.0.1 sends X-Forwarded-For" in done.stdout, done.stderr
