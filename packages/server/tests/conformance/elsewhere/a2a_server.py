"""An Agent2Agent server of the official SDK, in a thread of the tests."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as a2a

from tests.conformance.elsewhere.restarted_a2a import TaskExecutor, application, card_of
from tests.conformance.elsewhere.service import leave
from tests.e2e.server import AgentServer
from tests.servers import free_port


class Executor(TaskExecutor):
    """Does what the other agents' models and tools do; remembers each context."""

    server: AgentServer

    def __init__(self) -> None:
        self.users: dict[str, list[str]] = {}
        self.followed = asyncio.Event()

    def leave(self, trace: str) -> None:
        leave(self.server, trace)

    async def pass_gate(self, name: str) -> None:
        (self.server.gates / f"{name}.reached").touch()
        while not (self.server.gates / name).exists():  # noqa: ASYNC110 - a test opens it
            await asyncio.sleep(0.02)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        assert context.context_id is not None
        users = self.users.setdefault(context.context_id, [])
        users.append(text)
        word = text.partition(" ")[0]
        if word in ("hello", "again"):
            answer = f"You said: {' | '.join(users)}. Found: nothing."
            await event_queue.enqueue_event(
                a2a.Message(
                    message_id=f"m{len(users)}",
                    context_id=context.context_id,
                    role=a2a.Role.ROLE_AGENT,
                    parts=[a2a.Part(text=answer)],
                )
            )
            return
        await self.work(word, await self.begin(context, event_queue), users)

    async def work(self, word: str, task: TaskUpdater, users: list[str]) -> None:
        found = "nothing"
        if word == "ask":
            return await task.requires_input(self.reply_message(task, "Which colour?"))
        if word == "fail":
            return await task.failed(self.reply_message(task, "The order book is closed."))
        if word == "draw":
            await task.update_status(
                a2a.TaskState.TASK_STATE_WORKING, self.reply_message(task, "Drawing chart.txt")
            )
            await task.add_artifact([a2a.Part(raw=b"|||", filename="../chart.txt")])
            found = "drawn"
        if word == "order":
            for n in range(3):
                self.leave(f"a2a.model.order.{n}")
            self.leave("tool.reserve")
            self.leave("tool.pay.a2a.pay key")
            await self.pass_gate("a2a.pay")
            found = "reserved, paid"
        if word in ("wait", "hang"):
            try:
                await self.pass_gate(f"a2a.{word}")
            except asyncio.CancelledError:
                self.leave(f"cancelled.a2a.{word}")
                raise
            found = "waited"
        text = f"You said: {' | '.join(users)}. Found: {found}."
        await self.write(word, task, text)
        return await task.complete()

    async def write(self, word: str, task: TaskUpdater, text: str) -> None:
        if word != "slowly":
            await task.add_artifact([a2a.Part(text=text)], artifact_id="text")
            return
        for n, piece in enumerate((text[:8], text[8:])):
            part = [a2a.Part(text=piece)]
            await task.add_artifact(part, artifact_id="text", append=n > 0, last_chunk=n > 0)
            if n == 0:
                await self.followed.wait()
                await self.pass_gate("a2a.slowly")

    def reply_message(self, task: TaskUpdater, text: str) -> a2a.Message:
        return task.new_agent_message([a2a.Part(text=text)])


class Handler(DefaultRequestHandler):
    """Lets the executor know that somebody follows its task."""

    def __init__(self, executor: Executor, card: a2a.AgentCard) -> None:
        super().__init__(executor, InMemoryTaskStore(), card)
        self.executor = executor

    async def on_subscribe_to_task(
        self, params: a2a.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any, None]:
        async for event in super().on_subscribe_to_task(params, context):
            self.executor.followed.set()
            yield event


@contextmanager
def a2a_serving() -> Iterator[tuple[str, Executor]]:
    """The URL of its card, and what it does."""
    port, executor = free_port(), Executor()
    card = card_of(port)
    app = application(card, Handler(executor, card))
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}", executor
    server.should_exit = True
    server.force_exit = True
    thread.join(10)
