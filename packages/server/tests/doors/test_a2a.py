"""The Agent2Agent protocol, through the official client."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from tests.doors.test_mcp import JOB
from tests.doors.test_responses import script
from tests.e2e.caller import Caller
from tests.e2e.server import KEY, AgentServer
from tests.libraries import a2a_client, a2a_errors, a2a_pb2 as a2a

# Both databases where a chain of messages or a list of tasks is read, as no other door does.
BOTH = pytest.mark.databases("sqlite", "postgres")


@asynccontextmanager
async def connected(
    server: AgentServer, key: str = KEY, *, streaming: bool = False
) -> AsyncIterator[a2a_client.Client]:
    import httpx

    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        config = a2a_client.ClientConfig(streaming=streaming, httpx_client=http)
        async with await a2a_client.create_client(server.url, config) as client:
            yield client


@pytest.fixture
async def client(server: AgentServer) -> AsyncIterator[a2a_client.Client]:
    async with connected(server) as made:
        yield made


def request(
    text: str, *more: a2a.Part, at_once: bool = False, **message: Any
) -> a2a.SendMessageRequest:
    made = a2a.Message(
        message_id=message.pop("message_id", uuid.uuid4().hex),
        role=a2a.Role.ROLE_USER,
        parts=[a2a.Part(text=text), *more],
        **message,
    )
    configuration = a2a.SendMessageConfiguration(return_immediately=at_once)
    return a2a.SendMessageRequest(message=made, configuration=configuration)


async def send(client: a2a_client.Client, text: str, *more: a2a.Part, **given: Any) -> a2a.Task:
    """The task that a message begins or goes on with."""
    answers = [answer async for answer in client.send_message(request(text, *more, **given))]
    task: a2a.Task = answers[-1].task
    return task


def texts(task: a2a.Task) -> list[str]:
    return [part.text for made in task.artifacts for part in made.parts if part.text]


async def test_a_plain_answer_and_its_context(client: a2a_client.Client, caller: Caller) -> None:
    task = await send(client, "good day", metadata={"case": "7"})
    assert (task.status.state, texts(task)) == (
        a2a.TASK_STATE_COMPLETED,
        ["You said: good day"],
    )
    reported = task.metadata
    assert (reported["case"], reported["agentpost"]["status"]) == ("7", "completed")
    assert caller.get(task.id)["final"]
    again = await client.get_task(a2a.GetTaskRequest(id=task.id, history_length=1))
    assert texts(again) == texts(task)
    assert again.history[0].parts[0].text == "good day"
    later = await send(client, script(["see"]), context_id=task.context_id)
    assert later.id != task.id
    assert json.loads(texts(later)[0])["history"][0] == ["user", "good day"]


async def test_work_with_files_in_and_out(client: a2a_client.Client) -> None:
    heard = await send(client, script(["read"]), a2a.Part(raw=b"now", filename="now.txt"))
    assert texts(heard) == ["now"]
    task = await send(client, script(["start", "Report", JOB]))
    assert task.status.state == a2a.TASK_STATE_COMPLETED
    assert [made.name for made in task.artifacts] == ["reply", "Report"]
    (file,) = [part for part in task.artifacts[1].parts if part.url]
    assert (file.filename, file.media_type) == ("report.txt", "text/plain")
    assert httpx2.get(file.url, trust_env=False).text == "all is well"


@BOTH
async def test_a_question_is_answered_within_its_task(client: a2a_client.Client) -> None:
    asked = await send(client, script(["ask", "Which year?"]))
    assert asked.status.state == a2a.TASK_STATE_INPUT_REQUIRED
    assert asked.status.message.parts[0].text == "Which year?"
    answered = await send(client, "1999", task_id=asked.id)
    assert (answered.id, answered.status.state) == (asked.id, a2a.TASK_STATE_COMPLETED)
    said = [message.parts[0].text for message in answered.history]
    assert said == [script(["ask", "Which year?"]), "Which year?", "1999"]
    assert texts(answered) == ["You said: 1999"]
    with pytest.raises(a2a_errors.UnsupportedOperationError, match="has ended"):
        await send(client, "2000", task_id=asked.id)
    other = await send(client, script(["ask", "And now?"]))
    with pytest.raises(a2a_errors.InvalidParamsError, match="another contextId"):
        await send(client, "x", task_id=other.id, context_id="elsewhere")


async def test_an_answer_that_does_not_fit_its_question_is_refused(
    client: a2a_client.Client,
) -> None:
    asked = await send(client, script(["ask", "Which?", {"choices": ["Bar", "Line"]}]))
    with pytest.raises(a2a_errors.InvalidParamsError, match='"Bar", "Line"'):
        await send(client, "pie", task_id=asked.id)
    answered = await send(client, "line", task_id=asked.id)
    assert answered.status.state == a2a.TASK_STATE_COMPLETED
    schema = {"type": "object", "required": ["year"]}
    asked = await send(client, script(["ask", "When?", {"schema": schema}]))
    for text in ("soon", "{}"):
        with pytest.raises(a2a_errors.InvalidParamsError, match="year"):
            await send(client, text, task_id=asked.id)


async def test_a_stream_tells_steps_artifacts_and_the_end(server: AgentServer) -> None:
    async with connected(server, streaming=True) as client:
        text = script(["start", "Report", JOB])
        events = [event async for event in client.send_message(request(text))]
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds[0] == "task"
    assert kinds[-1] == "status_update"
    assert events[-1].status_update.status.state == a2a.TASK_STATE_COMPLETED
    reported = [e.artifact_update.artifact.name for e in events if e.HasField("artifact_update")]
    begun = [made.name for made in events[0].task.artifacts]
    assert begun + reported == ["reply", "Report"]


async def test_text_comes_in_chunks_while_it_is_written(server: AgentServer) -> None:
    """They are appended; files come with the last one, and what is taken back is replaced."""
    gate = uuid.uuid4().hex
    job = [
        ["gate", f"{gate} follows"],
        ["delta", "The sum "],
        ["gate", gate],
        ["delta", "is 1,042."],
        ["write", "out/sums.txt", "1042"],
        ["return", "The sum is 1,042."],
    ]
    other = ["delta", "what is said in the end is another text"]
    text = script(["delta", "Begun."], other, ["reply", "Begun."], ["start", "Sums", job])
    known: dict[str, str] = {}
    kept: dict[str, list[str]] = {}
    async with connected(server, streaming=True) as client:
        async for event in client.send_message(request(text)):
            server.open_gate(f"{gate} follows")
            if event.HasField("task"):  # the turn may have ended before
                begun = event.task.artifacts
                known |= {made.name: "".join(part.text for part in made.parts) for made in begun}
            if not event.HasField("artifact_update"):
                continue
            update = event.artifact_update
            name, said = update.artifact.name, "".join(part.text for part in update.artifact.parts)
            known[name] = known[name] + said if update.append else said
            kept.setdefault(name, []).append(known[name])
            if name == "Sums" and not update.last_chunk:
                server.open_gate(gate)
        last = update
    assert kept["Sums"][0] == "The sum "
    assert known == {"reply": "Begun.\n\nSums: running", "Sums": "The sum is 1,042."}
    assert (last.last_chunk, last.append) == (True, True)
    assert [part.filename for part in last.artifact.parts if part.url] == ["sums.txt"]


@BOTH
async def test_a_task_in_the_background_is_found_again_subscribed_to_and_cancelled(
    server: AgentServer,
    client: a2a_client.Client,
) -> None:
    async with connected(server, streaming=True) as watcher:
        gate = f"a2a-{uuid.uuid4().hex}"
        job = [["gate", gate], *JOB]
        task = await send(client, script(["start", "Report", job]), at_once=True)
        assert task.status.state in (a2a.TASK_STATE_SUBMITTED, a2a.TASK_STATE_WORKING)
        events = []
        async for event in watcher.subscribe(a2a.SubscribeToTaskRequest(id=task.id)):
            events.append(event)
            server.open_gate(gate)
        assert events[-1].status_update.status.state == a2a.TASK_STATE_COMPLETED
        steps = [
            e.status_update.status.message.parts[0].text
            for e in events
            if e.HasField("status_update") and e.status_update.status.message.parts
        ]
        assert "writing" in steps
        with pytest.raises(a2a_errors.UnsupportedOperationError):
            async for _ in watcher.subscribe(a2a.SubscribeToTaskRequest(id=task.id)):
                pass

        slow = await send(client, script(["start", "Slow", [["gate", "never"]]]), at_once=True)

        ended = await client.cancel_task(a2a.CancelTaskRequest(id=slow.id))
        assert ended.status.state == a2a.TASK_STATE_CANCELED
        with pytest.raises(a2a_errors.TaskNotCancelableError):
            await client.cancel_task(a2a.CancelTaskRequest(id=slow.id))


async def test_an_account_subscribes_only_so_often(
    start_server: Callable[..., AgentServer],
) -> None:
    server = start_server(streams_max=1)
    async with connected(server) as client, connected(server, streaming=True) as watcher:
        slow = await send(client, script(["start", "Slow", [["gate", "never"]]]), at_once=True)
        subscription = a2a.SubscribeToTaskRequest(id=slow.id)
        events = watcher.subscribe(subscription)
        await anext(events)
        with pytest.raises(a2a_errors.InternalError, match="event streams open"):
            await anext(watcher.subscribe(subscription))


@BOTH
async def test_tasks_are_listed_newest_first(client: a2a_client.Client) -> None:
    context = uuid.uuid4().hex
    made = [await send(client, f"number {n}", context_id=context) for n in range(3)]
    question = await send(client, script(["ask", "Well?"]), context_id=context)
    await send(client, script(["ask", "Yes?"]), task_id=question.id)

    async def page(token: str = "") -> a2a.ListTasksResponse:
        wanted = a2a.ListTasksRequest(context_id=context, page_size=3, page_token=token)
        return await client.list_tasks(wanted)

    first = await page()
    assert [task.id for task in first.tasks] == [question.id, made[2].id, made[1].id]
    assert first.total_size == 4
    second = await page(first.next_page_token)
    assert [task.id for task in second.tasks] == [made[0].id]
    assert second.next_page_token == ""
    asking = a2a.ListTasksRequest(
        context_id=context, status=a2a.TASK_STATE_INPUT_REQUIRED, include_artifacts=True
    )
    assert [task.id for task in (await client.list_tasks(asking)).tasks] == [question.id]


async def test_failed_work_says_why_and_what_to_do(client: a2a_client.Client) -> None:
    job = [["fail", "There is no column 'price'."]]
    task = await send(client, script(["start", "Sums", job]))
    assert task.status.state == a2a.TASK_STATE_FAILED
    assert task.status.message.parts[0].text.startswith("There is no column 'price'.")


@BOTH
async def test_sending_a_message_again_begins_nothing_twice(client: a2a_client.Client) -> None:
    same = uuid.uuid4().hex
    first = await send(client, "once", message_id=same)
    assert (await send(client, "once", message_id=same)).id == first.id


@BOTH
async def test_ten_messages_at_once_are_ten_tasks(client: a2a_client.Client) -> None:
    """Also of a client that calls each of them the same."""
    async with anyio.create_task_group() as tasks:
        made: dict[str, set[str]] = {"": set(), "1": set()}

        async def begin(text: str, message_id: str) -> None:
            task = await send(client, text, message_id=message_id or uuid.uuid4().hex)
            assert texts(task) == [f"You said: {text}"]
            made[message_id].add(task.context_id)

        for n in range(10):
            tasks.start_soon(begin, f"number {n}", "")
            tasks.start_soon(begin, f"number {n}", "1")
    assert [len(contexts) for contexts in made.values()] == [10, 10]


async def test_errors(server: AgentServer, client: a2a_client.Client) -> None:
    unknown = f"msg_{'0' * 32}"
    async with connected(server, streaming=True) as watcher:
        with pytest.raises(a2a_errors.TaskNotFoundError):
            await client.get_task(a2a.GetTaskRequest(id=unknown))
        with pytest.raises(a2a_errors.TaskNotFoundError):
            await client.cancel_task(a2a.CancelTaskRequest(id=unknown))
        with pytest.raises(a2a_errors.TaskNotFoundError):
            async for _ in watcher.subscribe(a2a.SubscribeToTaskRequest(id=unknown)):
                pass
        with pytest.raises(a2a_errors.TaskNotFoundError):
            await send(client, "hello", task_id=unknown)
        with pytest.raises(a2a_errors.InvalidParamsError, match="20,000"):
            await send(client, "x" * 20_001)
        with pytest.raises(a2a_errors.PushNotificationNotSupportedError):
            await client.create_task_push_notification_config(
                a2a.TaskPushNotificationConfig(task_id=unknown, url="https://a.example")
            )
