"""The audit log tells what keys did with the scope `admin`, and to what, without secrets."""

from collections.abc import Callable

from agentpost.api.app import OPERATIONS
from tests.e2e.caller import Caller, Json
from tests.e2e.receivers import receiving
from tests.e2e.server import AgentServer

ACTIONS = {each.action for each in OPERATIONS if each.action}
SETTINGS = {"egress_allow": "127.0.0.1/32"}


def test_each_operation_that_administers_is_recorded(
    server: AgentServer, caller: Caller, callers: Callable[..., Caller]
) -> None:
    with receiving() as receiver:
        url = f"{receiver.url}/path-token"
        body = {"url": url, "events": ["message.completed"]}
        made = caller.call("POST", "/v1/webhooks", json=body).json()
        endpoint = f"/v1/webhooks/{made['id']}"
        rotated = caller.call(
            "POST", f"{endpoint}/rotate-secret", json={"grace_seconds": 60}
        ).json()
        sent = caller.call("POST", f"{endpoint}/test").json()
        receiver.await_count(1)
        caller.call("POST", f"{endpoint}/deliveries/{sent['id']}/redeliver")
        caller.call("POST", f"{endpoint}/replay", json={"since": made["created_at"]})
        caller.call("PATCH", endpoint, json={"enabled": False})
        caller.call("DELETE", endpoint)
    message = caller.send([["start", "Work", [["return", "done"]]]])
    work = caller.final(message["id"])["jobs"][0]["work_id"]
    for path in (f"/v1/work/{work}", f"/v1/messages/{message['id']}"):
        assert caller.call("DELETE", path).status_code == 200
    caller.refusal(404, "not_found", "DELETE", f"/v1/messages/{message['id']}")
    caller.refusal(404, "not_found", "DELETE", "/v1/messages/%00%ff")
    read_only = callers(server, server.another_key("reader", "read"))
    read_only.refusal(403, "forbidden", "DELETE", f"/v1/messages/{message['id']}")

    lines: list[Json] = server.command("audit", "--limit", "100")["data"]
    by_key = [line for line in lines if line["via"] == "api"]
    assert {line["action"] for line in by_key} == ACTIONS
    key = caller.http.get("/v1/me").json()["key"]["id"]
    assert {(line["who"], line["origin"]) for line in by_key} == {(key, "127.0.0.1")}
    outcomes = [line["outcome"] for line in by_key if line["action"] == "messages delete"]
    assert outcomes == ["failed", "done"], "newest first; a key without the scope did nothing"
    details = {line["action"]: (line["target"], line["detail"]) for line in by_key}
    assert details["webhooks create"][1]["url"].endswith("/…")
    assert details["webhooks create"][1]["events"] == ["message.completed"]
    assert details["webhooks update"][0] == made["id"]
    assert details["webhooks update"][1]["enabled"] is False
    assert details["webhooks rotate"][1]["grace_seconds"] == 60
    assert details["webhooks redeliver"][1]["event_id"] == sent["id"]
    assert details["work delete"][0] == work
    for secret in ("path-token", made["secret"], rotated["secret"]):
        assert secret not in str(lines)
