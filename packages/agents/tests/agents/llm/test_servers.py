"""Tools of MCP servers: programs and addresses, those that fail, and files that are wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentpost.testing import crash_after, run
from agentpost.threads.loop import AgentLoop
from tests.agents.llm import mcp_stub
from tests.agents.llm.openai_stub import (
    Calls,
    OpenAIStub,
    Says,
    instructions_of,
)
from tests.agents.llm.test_calls import ask
from tests.libraries import Later, pydantic_messages as ai

if TYPE_CHECKING:
    from pydantic_ai.models.function import AgentInfo
    from pydantic_ai.toolsets import AbstractToolset

    from agentpost.agents.llm import servers
    from tests.agents.llm import toolsets
else:
    servers, toolsets = Later("agentpost.agents.llm.servers"), Later("tests.agents.llm.toolsets")

PROGRAM = {"command": sys.executable, "args": ["-I", "-S", mcp_stub.__file__]}


def write_config(folder: Path, entries: dict[str, Any]) -> str:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": entries}))
    return str(path)


async def test_tools_of_programs_and_addresses(
    stub: OpenAIStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTER_KEY", "secret")
    with mcp_stub.http_server() as url:
        address = {"url": url, "headers": {"X-Key": "${COUNTER_KEY}"}}
        path = write_config(tmp_path, {"here": PROGRAM, "there": address})
        stub.tell(
            Calls([("here_count", '{"word": "abc"}'), ("there_count", '{"word": "abcd"}')]),
            Calls([("here_count", '{"word": "bad"}')]),
            Says(["Counted."]),
        )
        done, recorder = await ask(stub, llm_mcp_file=path)
    assert done.text == "Counted."
    results = [m["content"] for m in stub.requests[2]["messages"] if m["role"] == "tool"]
    assert results[:2] == ["3 letters", "4 letters"]
    assert "no such word" in results[2]
    assert [name for name, _ in recorder.tools] == ["here_count", "there_count", "here_count"]


async def test_a_name_that_no_provider_takes_is_mapped(stub: OpenAIStub, tmp_path: Path) -> None:
    """The stub rejects such names and names that two tools have, as providers do."""
    names = ["tickets.find", "tickets/find", "z" * 80, "z" * 81, "suche\u00e4", "b_count", "ok"]
    named = {**PROGRAM, "env": {"TOOL_NAMES": json.dumps(names)}}
    clash = {**PROGRAM, "env": {"TOOL_NAMES": '["file", "count"]'}}
    path = write_config(tmp_path, {"a": named, "a_b": PROGRAM, "write": clash})
    offered: list[str] = []

    def answer(request: dict[str, Any]) -> Calls | Says:
        if offered:
            return Says(["Called."])
        every = (tool["function"]["name"] for tool in request["tools"])
        offered.extend(n for n in every if n.startswith(("a_", "write_")) and n != "write_file")
        return Calls([(name, '{"word": "abc"}') for name in offered])

    stub.requests.clear()
    stub.answer = answer
    done, _ = await ask(stub, llm_mcp_file=path)
    assert done.text == "Called."
    results = [m["content"] for m in stub.requests[1]["messages"] if m["role"] == "tool"]
    expected = [*(f"{name}: 3 letters" for name in [*names, "file"]), "3 letters", "3 letters"]
    assert sorted(results) == sorted(expected)
    assert {"a_ok", "a_b_count", "write_count"} < set(offered)


async def test_a_server_that_is_down_is_left_out(
    stub: OpenAIStub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with mcp_stub.http_server() as url:
        pass
    path = write_config(tmp_path, {"gone": {"url": url}, "absent": {"command": "/nobody/has/this"}})
    stub.tell(Says(["Hello."]))
    done, _ = await ask(stub, llm_mcp_file=path)
    assert done.text == "Hello."
    tools = [tool["function"]["name"] for tool in stub.requests[0]["tools"]]
    assert not [name for name in tools if name.startswith(("gone", "absent"))]
    for name in ("gone", "absent"):
        assert f"the MCP server {name} cannot be reached" in caplog.text
        assert f"The tools of '{name}' cannot be reached now." in instructions_of(stub.requests[0])


async def test_a_server_that_is_down_is_tried_again_later() -> None:
    """Each failure makes the pause longer; an opened one begins with the first pause again."""
    down = toolsets.Odd(is_down=lambda number: number < 3)
    server = toolsets.server_of(down, "down")
    now = asyncio.get_running_loop().time()
    pauses = []
    for _ in range(2):
        for _ in range(2):  # the second one is within the pause
            async with server:
                assert not server.is_open
        pauses.append(server.reach.closed_until - now)
        server.reach.closed_until = now
    assert (down.tries, pauses[1] > 1.9 * servers.AGAIN_SECONDS > pauses[0]) == (2, True)
    async with server:
        assert server.is_open
    assert server.reach.failures == 0


async def test_runs_that_begin_together_try_once() -> None:
    silent = toolsets.Odd(is_down=lambda _: True)
    root = toolsets.server_of(silent, "silent")

    async def begin() -> bool:
        async with servers.Server(silent, "silent", root.reach) as server:
            return server.is_open

    assert await asyncio.gather(*(begin() for _ in range(4))) == [False] * 4
    assert (silent.tries, root.reach.failures) == (1, 1)


@pytest.mark.parametrize("kind", ["program", "address"])
async def test_one_that_ends_in_a_run_is_opened_again(
    stub: OpenAIStub, tmp_path: Path, kind: str
) -> None:
    """The model is told of the call under way, which is not made again; the next one succeeds."""
    with mcp_stub.http_server() as url:
        address = {"url": url, "headers": {"X-Key": "secret"}}
        path = write_config(tmp_path, {"here": PROGRAM if kind == "program" else address})
        words = ("abc", "die", "abcd")
        calls = [Calls([("here_count", json.dumps({"word": word}))]) for word in words]
        stub.tell(*calls, Says(["Counted."]))
        done, _ = await ask(stub, llm_mcp_file=path)
    assert done.text == "Counted."
    results = [m["content"] for m in stub.requests[-1]["messages"] if m["role"] == "tool"]
    assert (results[0], results[2]) == ("3 letters", "4 letters")
    assert "here_count failed" in results[1]


async def test_runs_that_lose_a_program_together_share_the_next_one(tmp_path: Path) -> None:
    """The dead one is still held by both; the next one ends with the last of them."""
    pid_file = tmp_path / "pid"
    here = {**PROGRAM, "env": {"PID_FILE": str(pid_file)}}
    (root,) = servers.of_file(write_config(tmp_path, {"here": here}))

    async def counted(run: AbstractToolset[Any]) -> Any:
        tool = (await run.get_tools(toolsets.in_run()))["here_count"]
        return await run.call_tool("here_count", {"word": "abc"}, toolsets.in_run(), tool)

    async with (
        await root.for_run(toolsets.in_run()) as first,
        await root.for_run(toolsets.in_run()) as second,
    ):
        for starts in (1, 2, 3):
            assert {*await asyncio.gather(counted(first), counted(second))} == {"3 letters"}
            pids = pid_file.read_text().split()
            assert len(pids) == starts
            os.kill(int(pids[-1]), signal.SIGKILL)
            await await_end(pids[-1])
    async with await root.for_run(toolsets.in_run()) as third:
        assert await counted(third) == "3 letters"


async def await_end(pid: str) -> None:
    """Wait until the process is gone."""
    while Path(f"/proc/{pid}").exists():  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(0.01)


async def test_what_is_kept_of_a_result() -> None:
    from pydantic_ai import ModelRetry, ToolReturn

    for given, expected in (
        ("found", "found"),
        ({"found": [1, None]}, {"found": [1, None]}),
        ("a\0b\ud800c", "a\ufffdb\ufffdc"),
        ([{"a\0": "\udfff"}], [{"a\ufffd": "\ufffd"}]),
        (ToolReturn("found", metadata={"app": "x" * 200_000}), "found"),
        ("x" * 100_007, "x" * 100_000 + "\n[7 characters are left out]"),
        (["x" * 100_000], '["' + "x" * 99_998 + "\n[4 characters are left out]"),
        (ModelRetry("no\0such"), "find failed: no\ufffdsuch"),
        (ValueError("broken"), "find failed: broken"),
    ):
        async with toolsets.server_of(toolsets.Odd(given), "odd") as server:
            assert await toolsets.called(server) == expected, repr(given)[:24]
    endless = toolsets.Odd(ModelRetry("x" * 200_000))
    async with toolsets.server_of(endless, "odd") as server:
        assert len(await toolsets.called(server)) < servers.RESULT_CHARACTERS + 100


URL = "https://me:password@tools.example/mcp/key-in-the-path?token=in%2Dthe-query#end"


async def test_no_key_of_an_address_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the log nor to the model."""
    from pydantic_ai import ModelRetry

    keys = servers.keys_of(URL, {"Authorization": "Bearer key-in-a-header"})
    for failure in (ModelRetry, ConnectionError):
        broken = failure(f"401 for {URL} and key-in-a-header, token in-the-query")
        async with toolsets.server_of(toolsets.Odd(broken), "odd", keys) as server:
            result = await toolsets.called(server)
        expected = "401 for https://…@tools.example/mcp/…?token=…#end and …, token …"
        assert result == f"find failed: {expected}", failure
        assert "key-" not in caplog.text, failure


async def test_a_tool_that_fails_often_fails_no_run(stub: OpenAIStub, tmp_path: Path) -> None:
    path = write_config(tmp_path, {"here": PROGRAM})
    stub.tell(*[Calls([("here_count", '{"word": "bad"}')])] * 5, Says(["There is none."]))
    done, _ = await ask(stub, llm_mcp_file=path)
    assert done.text == "There is none."


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_repeated_job_offers_the_same_tools(after: int) -> None:
    """The server is down when the job runs again: its recorded calls stand, others say so."""
    from pydantic_ai import Agent, DeferredToolRequests
    from pydantic_ai.models.function import FunctionModel

    down = toolsets.Odd("found", is_down=lambda number: number > 2)
    seen: list[Any] = []

    def answer(messages: list[ai.ModelMessage], info: AgentInfo) -> ai.ModelResponse:
        assert [tool.name for tool in info.function_tools] == ["find"]
        results = [p.content for m in messages for p in m.parts if isinstance(p, ai.ToolReturnPart)]
        if len(results) < 2:
            return ai.ModelResponse(parts=[ai.ToolCallPart("find", {})])
        seen.append(results)
        return ai.ModelResponse(parts=[ai.TextPart("Done.")])

    agent = Agent(
        FunctionModel(answer),
        output_type=[str, DeferredToolRequests],
        toolsets=[toolsets.server_of(down, "down")],
    )
    done = run(agent, "look", crash=crash_after("step", after), replay=False)
    assert (done.status, done.text) == ("completed", "Done.")
    assert set(seen[-1]) <= {"found", "The tools of 'down' cannot be reached now."}


async def test_a_program_ends_with_the_loop_that_started_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    found = servers.of_file(
        write_config(tmp_path, {"here": {**PROGRAM, "env": {"PID_FILE": str(pid_file)}}})
    )
    loop = AgentLoop()
    loop.start()
    await loop.run(servers.connect(found))
    pid = int(pid_file.read_text())
    os.kill(pid, 0)
    await asyncio.to_thread(loop.stop, 30)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (None, "No such file"),
        ("[]", '{"mcpServers"'),
        ("{", "Expecting"),
        ('{"mcpServers": {"a b": {"url": "http://x"}}}', "'a b' is not a name"),
        ('{"mcpServers": {"a": {}}}', "a needs a command or a url"),
        ('{"mcpServers": {"a": {"command": ["x"]}}}', "a.command: Input should be a valid string"),
        ('{"mcpServers": {"a": {"url": "${NO_SUCH_VARIABLE}"}}}', "no variable NO_SUCH_VARIABLE"),
    ],
)
def test_a_file_that_is_wrong_is_reported(
    tmp_path: Path, content: str | None, reported: str
) -> None:
    path = tmp_path / "mcp.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match="AGENTPOST_LLM_MCP_FILE") as raised:
        servers.of_file(str(path))
    assert reported in str(raised.value)
