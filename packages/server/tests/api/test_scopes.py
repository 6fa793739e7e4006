"""What a key may do, operation by operation (design: Key scopes)."""

from collections.abc import Callable

import httpx2
import pytest

from agentpost.accounts.scope_rules import Scope
from agentpost.api.app import OPERATIONS
from tests.e2e.caller import Caller
from tests.e2e.raw import head, raw
from tests.e2e.server import AgentServer

SETTINGS: dict[str, object] = {}


@pytest.fixture(scope="module")
def keys(server: AgentServer) -> dict[Scope, str]:
    """A key with only this scope, for each."""
    return {scope: server.another_key(scope, scope) for scope in Scope}


def ask(caller: Caller, method: str, path: str) -> httpx2.Response:
    parts = ["0" if part.startswith("{") else part for part in path.split("/")]
    return caller.http.request(method, "/".join(parts), content=b"no JSON at all")


@pytest.mark.rule("Additions scopes", "Additions forbidden")
@pytest.mark.parametrize("scope", Scope)
def test_each_operation_wants_its_scope_and_no_other(
    server: AgentServer, callers: Callable[..., Caller], keys: dict[Scope, str], scope: Scope
) -> None:
    caller = callers(server, keys[scope])
    for operation in OPERATIONS:
        answer = ask(caller, operation.method, operation.path)
        if operation.scope in (None, scope):
            assert answer.status_code != 403, operation.id
            continue
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden"), operation.id
        assert f"'{operation.scope}'" in answer.json()["message"]
        caller.contract.check(answer)


@pytest.mark.rule("Additions scopes")
def test_the_description_names_the_scope(caller: Caller) -> None:
    described = caller.http.get("/openapi.json").json()
    for operation in OPERATIONS:
        path = operation.path.replace(":path}", "}")
        found = described["paths"][path][operation.method.lower()].get("x-scope")
        assert found == operation.scope, operation.id


@pytest.mark.rule("Additions forbidden")
def test_a_missing_scope_is_said_before_the_body_comes(
    server: AgentServer, keys: dict[Scope, str]
) -> None:
    key = keys[Scope.READ]
    answer = raw(server, head("POST", "/v1/messages", "Content-Length: 1000000", key=key))
    assert (answer.status, answer.body["error"]) == (403, "forbidden")


@pytest.mark.rule("Additions scopes")
def test_a_key_shows_its_scopes(
    server: AgentServer, caller: Caller, callers: Callable[..., Caller], keys: dict[Scope, str]
) -> None:
    default = ["send", "read", "admin"]
    assert caller.http.get("/v1/me").json()["key"]["scopes"] == default
    reader = callers(server, keys[Scope.READ])
    assert reader.http.get("/v1/me").json()["key"]["scopes"] == ["read"]
    listed = {key["name"]: key["scopes"] for key in server.command("keys", "list")["data"]}
    assert listed == {"default": default} | {scope.value: [scope.value] for scope in Scope}


@pytest.mark.rule("Additions scopes")
def test_a_send_key_gets_the_reply_with_its_own_call(
    server: AgentServer, callers: Callable[..., Caller], keys: dict[Scope, str]
) -> None:
    answer = callers(server, keys[Scope.SEND]).post("hello")
    assert answer.status_code == 201
    assert answer.json()["id"].startswith("msg_")


@pytest.mark.rule("Additions scopes")
def test_a_send_key_stops_work_without_reading_it(
    caller: Caller, server: AgentServer, callers: Callable[..., Caller], keys: dict[Scope, str]
) -> None:
    sent = caller.send([["start", "A chart", [["write", "a.txt", "x"], ["return", "Six rows."]]]])
    (job,) = caller.final(sent["id"])["jobs"]
    stop = f"/v1/work/{job['work_id']}/stop"
    assert caller.http.post(stop).json()["files"] != []
    stopped = callers(server, keys[Scope.SEND]).http.post(stop)
    assert (stopped.json()["text"], stopped.json()["files"]) == ("", [])
    caller.contract.check(stopped)
