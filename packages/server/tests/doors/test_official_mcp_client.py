"""The tools of the Model Context Protocol, called by the official TypeScript client."""

import json
from typing import Any

from tests.e2e.caller import Caller
from tests.e2e.server import KEY, AgentServer
from tests.node import run_official

MESSAGE = f"msg_{'0' * 32}"
WORK = f"wrk_{'0' * 32}"
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "send_message": ({"text": ""}, "empty_message"),
    "follow_message": ({"message_id": MESSAGE}, "not_found"),
    "answer_question": ({"text": "1999", "message_id": MESSAGE}, "not_found"),
    "stop_message": ({"message_id": MESSAGE}, "not_found"),
    "recover_message": ({"message_id": MESSAGE}, "not_found"),
    "list_messages": ({"before": "x"}, "invalid_request"),
    "list_work": ({"limit": 0}, "invalid_request"),
    "get_work": ({"work_id": WORK}, "not_found"),
    "stop_work": ({"work_id": WORK}, "not_found"),
}


def test_each_tool_answers_and_each_refusal_says_why(server: AgentServer, caller: Caller) -> None:
    """The client compares values with the tool's schema, those of a refusal too, and throws."""
    asked = caller.send([["ask", "Which year?"]])["id"]
    made = caller.final(caller.send([["start", "Report", [["return", "Done."]]]])["id"])
    work = {"work_id": made["jobs"][0]["work_id"]}
    good: dict[str, dict[str, Any]] = {
        "send_message": {"text": "hello"},
        "follow_message": {"message_id": made["id"]},
        "answer_question": {"text": "1999", "message_id": asked},
        "stop_message": {"message_id": made["id"]},
        "recover_message": {"message_id": made["id"]},
        "list_messages": {},
        "list_work": {},
        "get_work": work,
        "stop_work": work,
    }
    calls = [*good.items(), *((name, arguments) for name, (arguments, _) in REFUSED.items())]
    where = {"SERVER_URL": server.url, "SERVER_KEY": KEY}
    said = json.loads(run_official("mcp_calls.mjs", **where, CALLS=json.dumps(calls)))
    assert set(said["tools"]) == set(good) == set(REFUSED)
    answered, refused = said["results"][: len(good)], said["results"][len(good) :]
    assert [result for result in answered if result.get("refused") is not False] == []
    codes = [str(result.get("text", result)).partition(":")[0] for result in refused]
    assert codes == [code for _, code in REFUSED.values()]
    assert all(result["refused"] for result in refused)
