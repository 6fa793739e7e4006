"""The tools of the Model Context Protocol, through the official clients: that of Python over both
transports, that of TypeScript."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import httpx2
import pytest

from agentpost.clock import new_id
from tests.doors.test_responses import script
from tests.e2e import posting
from tests.e2e.agents import Script
from tests.e2e.caller import Caller
from tests.e2e.server import KEY, AgentServer
from tests.libraries import mcp
from tests.node import run_official

JOB: Script = [
    ["progress", "writing"],
    ["write", "out/report.txt", "all is well"],
    ["return", "It is done."],
]
Connect = Callable[..., AbstractAsyncContextManager[Any]]
"""To the module's server with a key; what it opens is a client."""
SETTINGS = {"streams_max": 1}
"""The module's server, which holds one call at a time for an account."""


@asynccontextmanager
async def over_http(server: AgentServer, key: str = KEY) -> AsyncIterator[mcp.Client]:
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        mcp.Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(server: AgentServer, key: str = KEY) -> AsyncIterator[mcp.Client]:
    from mcp.client.stdio import stdio_client

    program = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "agentpost", "mcp"],
        env={"AGENTPOST_URL": server.url, "AGENTPOST_KEY": key},
    )
    async with mcp.Client(stdio_client(program)) as client:
        yield client


@asynccontextmanager
async def beside(server: AgentServer, key: str) -> AsyncIterator[mcp.Client]:
    """What `agentpost mcp` serves, without its process: starting one takes seconds."""
    from agentpost.doors.mcp.remote import HttpBackend
    from agentpost.doors.mcp.server import build

    backend = HttpBackend(server.url, key)
    async with mcp.Client(build(backend)) as client:
        yield client
    await backend.aclose()


@pytest.fixture(params=[over_http, over_stdio], ids=["http", "stdio"])
def connect(request: pytest.FixtureRequest, server: AgentServer) -> Connect:
    """Connect to the module's server."""

    def made(key: str = KEY) -> AbstractAsyncContextManager[mcp.Client]:
        connected: AbstractAsyncContextManager[mcp.Client] = request.param(server, key)
        return connected

    return made


async def call(client: mcp.Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives, which must not be an error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    given: dict[str, Any] = result.structured_content
    return given


async def refusal_code(client: mcp.Client, tool: str, **arguments: Any) -> str:
    """The code of a call that is refused; its text says what to do."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert isinstance(result.content[0], mcp.types.TextContent)
    assert result.structured_content is None  # it would have to fit the tool's output schema
    code, _, rest = result.content[0].text.partition(": ")
    assert rest
    return code


async def test_a_whole_journey(connect: Connect, server: AgentServer, caller: Caller) -> None:
    """One connection for all of it: a program has to be started for each."""
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"send_message", "follow_message", "answer_question", "stop_message"} <= set(tools)
        assert all(tool.output_schema for tool in tools.values())
        said = await call(client, "send_message", text="good day")
        assert (said["status"], said["reply"]) == ("completed", "You said: good day")
        await long_work_is_followed(client, server, caller, said["message_id"])
        await questions_and_files(client, caller)
        await failures_and_ends(client)
        await works(client)
        await refusals(client)


async def long_work_is_followed(
    client: mcp.Client, server: AgentServer, caller: Caller, gate: str
) -> None:
    """It goes on after the call, tells its steps, and leaves a file."""
    shown = ["delta", "All is well so far\u2028as one can see."]
    job = [["gate", gate], shown, ["gate", f"{gate}-told"], *JOB]
    begun = await call(
        client, "send_message", text=script(["start", "Report", job]), wait_seconds=0
    )
    assert (begun["status"], begun["final"]) == ("processing", False)
    steps: list[str | None] = []

    async def heard_of(progress: float, total: float | None, message: str | None) -> None:
        server.open_gate(gate)  # it is followed: nothing of the text gets lost
        steps.append(message)
        if message and message.startswith("writing"):
            server.open_gate(f"{gate}-told")

    arguments = {"message_id": begun["message_id"], "wait_seconds": 60}
    followed = await client.call_tool("follow_message", arguments, progress_callback=heard_of)
    ended = followed.structured_content
    assert (ended["status"], ended["results"][0]["text"]) == ("completed", "It is done.")
    assert "progress: writing" in steps
    assert any(step and step.startswith("writing: …All is well so far") for step in steps)
    assert caller.get(begun["message_id"])["final"]
    recovery = await call(client, "recover_message", message_id=begun["message_id"])
    assert recovery["work"][0]["state"] == "settled"

    (link,) = [part for part in followed.content if isinstance(part, mcp.types.ResourceLink)]
    assert link.name == "report.txt"
    (read,) = (await client.read_resource(link.uri)).contents
    assert isinstance(read, mcp.types.TextResourceContents)
    assert read.text == "all is well"
    assert link.uri in [resource.uri for resource in (await client.list_resources()).resources]


async def questions_and_files(client: mcp.Client, caller: Caller) -> None:
    """A question is answered in its conversation; files come in as bytes and as uploads."""
    asked = await call(client, "send_message", text=script(["ask", "Which year?"]))
    assert (asked["status"], asked["question"]) == ("needs_input", "Which year?")
    answer = await call(
        client, "answer_question", text=script(["see"]), message_id=asked["message_id"]
    )
    assert answer["conversation"] == asked["conversation"]
    assert ["agent", "Which year?"] in json.loads(answer["reply"])["history"]
    asked = await call(
        client, "send_message", text=script(["ask", "Which?", {"choices": ["Bar", "Line"]}])
    )
    by_id, by_name = (
        {"message_id": asked["message_id"]},
        {"conversation": asked["conversation"]},
    )
    for which in (by_id, by_name):
        wrong = await client.call_tool("answer_question", {"text": "pie", **which})
        assert (wrong.is_error, '"Bar", "Line"' in str(wrong.content)) == (True, True)
    once = {**by_id, "text": "line", "idempotency_key": new_id("k", 0)}
    answer = await call(client, "answer_question", **once)
    assert (answer["status"], answer["conversation"]) == ("completed", asked["conversation"])
    again = await call(client, "answer_question", **once)
    assert again["message_id"] == answer["message_id"]
    also = await call(
        client, "send_message", text=script(["ask", "Which?", {"choices": ["Bar", "Line"]}])
    )
    elsewhere = {**once, "message_id": also["message_id"]}
    assert await refusal_code(client, "answer_question", **elsewhere) == "idempotency_conflict"
    await answers_are_repeated(client)
    heard = await call(
        client,
        "send_message",
        text=script(["read"]),
        files=[{"name": "now.txt", "base64": base64.b64encode(b"now").decode()}],
        upload_ids=[posting.ready(caller, b"from an upload", "later.txt")],
    )
    assert heard["reply"] == "now\nfrom an upload"


async def answers_are_repeated(client: mcp.Client) -> None:
    """By the conversation alone, whatever has become of its question and was asked meanwhile."""
    choices = {"choices": ["Bar", "Line"]}
    asked = await call(client, "send_message", text=script(["ask", "Which?", choices]))
    talk = {"conversation": asked["conversation"]}
    typed = {**talk, "text": "line", "idempotency_key": new_id("k", 0)}
    plain = {**talk, "text": script(["ask", "How?", {"choices": ["By hand"]}])}
    plain["idempotency_key"] = new_id("k", 0)
    first = [(each, await call(client, "answer_question", **each)) for each in (typed, plain)]
    for sent, answer in (first[0], *first):
        again = await call(client, "answer_question", **sent)
        assert again["message_id"] == answer["message_id"]
    changed = {**typed, "text": "bar"}
    assert await refusal_code(client, "answer_question", **changed) == "idempotency_conflict"


async def failures_and_ends(client: mcp.Client) -> None:
    """A failure says why; a stop ends what runs."""
    failing = script(["start", "Sums", [["fail", "There is no column 'price'."]]])
    failed = await call(client, "send_message", text=failing)
    assert (failed["status"], failed["reason"]) == ("failed", "execution_failed")
    assert failed["results"][0]["text"] == "There is no column 'price'."
    slow = script(["start", "Slow", [["gate", "never"]]])
    message_id = (await call(client, "send_message", text=slow, wait_seconds=0))["message_id"]
    await call(client, "stop_message", message_id=message_id)
    stopped = await call(client, "follow_message", message_id=message_id)
    assert (stopped["status"], stopped["final"]) == ("failed", True)


async def works(client: mcp.Client) -> None:
    """They are listed, read and stopped; so are messages."""
    newest = await call(client, "list_messages", limit=2)
    assert len(newest["data"]) == 2
    assert newest["has_more"]
    older = await call(client, "list_messages", limit=1, before=newest["data"][-1]["id"])
    assert older["data"][0]["id"] < newest["data"][-1]["id"]
    listed = (await call(client, "list_work"))["data"]
    newest_works = await call(client, "list_work", limit=1)
    assert (newest_works["data"], newest_works["has_more"]) == (listed[:1], True)
    older_works = await call(client, "list_work", limit=1, before=listed[0]["work_id"])
    assert older_works["data"] == listed[1:2]
    report = next(work for work in listed if work["title"] == "Report")
    work = await call(client, "get_work", work_id=report["work_id"])
    assert (work["text"], work["status"]) == ("It is done.", "idle")
    await call(client, "stop_work", work_id=report["work_id"])


async def refusals(client: mcp.Client) -> None:
    """What is wrong is said with what to do."""
    assert await refusal_code(client, "send_message", txt="x") == "invalid_request"
    empty = [{"name": "a.txt"}, {"name": "b.txt"}]
    wrong = await client.call_tool("send_message", {"text": "x", "files": empty})
    assert wrong.is_error
    assert "files.0 needs a url or base64; files.1 needs" in str(wrong.content)
    assert await refusal_code(client, "answer_question", text="1999") == "invalid_request"
    with pytest.raises(mcp.MCPError, match="not_found"):
        await client.read_resource("agentpost://files/wrk_1/x")


async def test_a_wrong_key_over_stdio_is_said_by_each_tool(server: AgentServer) -> None:
    async with beside(server, "svc_key_wrong") as client:
        assert await refusal_code(client, "send_message", text="hi") == "unauthorized"


PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        ({"json": [PING]}, 400, -32600),
        ({"json": {**PING, "jsonrpc": "1.0"}}, 400, -32600),
        ({"json": {"jsonrpc": "2.0", "id": 1}}, 400, -32600),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, -32700),
        ({"json": {**PING, "params": {"pad": "x" * 17 * 2**20}}}, 413, -32600),
        ({"json": {**PING, "method": "tools/guess"}}, 200, -32601),
        ({"json": PING}, 200, None),
    ],
    ids=["batch", "version", "nothing", "no JSON", "too large", "no method", "fine"],
)
def test_requests_are_checked(
    server: AgentServer, request_: dict[str, Any], status: int, code: int | None
) -> None:
    headers = {**ACCEPT, **request_.pop("headers", {})}
    answer = httpx2.post(f"{server.url}/mcp", headers=headers, trust_env=False, **request_)
    assert answer.status_code == status, answer.text
    said = json.loads(answer.text.partition("data: ")[2] or answer.text)
    assert said.get("error", {}).get("code") == code
    assert answer.headers["request-id"]
    assert "mcp-session-id" not in answer.headers


def test_there_are_no_sessions(server: AgentServer) -> None:
    for method in ("GET", "DELETE"):
        answer = httpx2.request(method, f"{server.url}/mcp", headers=ACCEPT, trust_env=False)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@asynccontextmanager
async def followed(client: mcp.Client) -> AsyncIterator[str]:
    """The id of a message that is followed meanwhile, in the account's only place; then that call
    is cancelled."""
    slow = script(["start", "Slow", [["gate", "never"]]])
    begun = await call(client, "send_message", text=slow, wait_seconds=0)
    arguments = {"message_id": begun["message_id"], "wait_seconds": 60}
    heard = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            partial(client.call_tool, "follow_message", arguments, progress_callback=hear)
        )
        await heard.wait()
        yield begun["message_id"]
        tasks.cancel_scope.cancel()


async def test_a_call_that_is_cancelled_holds_nothing(server: AgentServer) -> None:
    """Over HTTP the client hangs up; the account's only place is free again. The work runs on."""
    async with over_http(server) as client:
        async with followed(client) as slow:
            again = {"message_id": slow, "wait_seconds": 60}
            assert await refusal_code(client, "follow_message", **again) == "rate_limited"
        unknown = {"message_id": "msg_" + "0" * 32}
        while (code := await refusal_code(client, "follow_message", **unknown)) == "rate_limited":
            pass
        assert code == "not_found"
        runs_on = await call(client, "follow_message", message_id=slow, wait_seconds=0)
        assert runs_on["status"] == "processing"
        assert (await call(client, "stop_message", message_id=slow))["final"]


async def test_a_failed_turn_is_told_while_all_places_are_taken(server: AgentServer) -> None:
    """How it failed is in the log, whose reading is held; that it failed is told anyway."""
    async with over_http(server) as client:
        failed = await call(client, "send_message", text=script(["no_such_operation"]))
        [result] = failed["results"]
        assert (failed["reason"], result["outcome"]) == ("turn_failed", "failed")
        assert result["text"] == "The agent failed while answering."
        async with followed(client) as slow:
            again = {"message_id": failed["message_id"], "wait_seconds": 0}
            shown = await call(client, "follow_message", **again)
            assert (shown["status"], shown["reason"]) == ("failed", "turn_failed")
        await call(client, "stop_message", message_id=slow)


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
