"""Agent2Agent servers of the official SDK in processes, which keep their tasks in a folder.

``python -m tests.conformance.elsewhere.restarted_a2a`` imports the SDK, a second of CPU, and forks
a server for each line that it reads: port, folder and whether it streams, a list in JSON. It writes
the number of each process. A task works until the file ``done`` is in the folder. A start takes up
the tasks that an earlier process left, unless the folder has a file ``forget``. A task that is
cancelled leaves a file ``cancelled``.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as a2a
from starlette.applications import Starlette

LOOK_SECONDS = 0.05
RESULT = "It is done."


class FolderStore(InMemoryTaskStore):
    """Writes each task that is saved."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    async def save(self, task: a2a.Task, context: ServerCallContext) -> None:
        await super().save(task, context)
        (self.folder / f"{task.id}.task").write_bytes(task.SerializeToString())

    async def recover_open(self) -> None:
        """Know again what was written, and finish it."""
        if (self.folder / "forget").exists():
            return
        context = ServerCallContext()
        tasks = [a2a.Task.FromString(path.read_bytes()) for path in self.folder.glob("*.task")]
        for task in tasks:
            await self.save(task, context)
        await until_done(self.folder)
        for task in tasks:
            task.status.state = a2a.TaskState.TASK_STATE_COMPLETED
            task.artifacts.append(a2a.Artifact(artifact_id="text", parts=[a2a.Part(text=RESULT)]))
            await self.save(task, context)


async def until_done(folder: Path) -> None:
    while not (folder / "done").exists():  # noqa: ASYNC110 - a test makes it
        await asyncio.sleep(LOOK_SECONDS)


class TaskExecutor(AgentExecutor):
    """Knows how a task begins and is cancelled."""

    async def begin(self, context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
        task = updater(context, event_queue)
        if context.current_task is None:
            status = a2a.TaskStatus(state=a2a.TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(
                a2a.Task(id=task.task_id, context_id=task.context_id, status=status)
            )
        await task.start_work()
        return task

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await updater(context, event_queue).cancel()


def updater(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    assert context.task_id is not None
    assert context.context_id is not None
    return TaskUpdater(event_queue, context.task_id, context.context_id)


def card_of(port: int, *, streams: bool = True) -> a2a.AgentCard:
    url = f"http://127.0.0.1:{port}/rpc"
    return a2a.AgentCard(
        name="Elsewhere",
        description="An agent of the tests.",
        version="1",
        supported_interfaces=[
            a2a.AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=a2a.AgentCapabilities(streaming=streams),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )


def application(card: a2a.AgentCard, handler: DefaultRequestHandler, **more: Any) -> Starlette:
    routes: list[Any] = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")]
    return Starlette(routes=routes, **more)


class Executor(TaskExecutor):
    """Works until it may end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await self.begin(context, event_queue)
        await until_done(self.folder)
        await task.add_artifact([a2a.Part(text=RESULT)], artifact_id="text")
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        (self.folder / "cancelled").touch()
        await super().cancel(context, event_queue)


def main(port: int, folder: Path, *, streams: bool) -> None:
    """Serve until killed."""
    card, store = card_of(port, streams=streams), FolderStore(folder)
    handler = DefaultRequestHandler(Executor(folder), store, card)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        taking_up = asyncio.create_task(store.recover_open())
        yield
        taking_up.cancel()

    uvicorn.run(application(card, handler, lifespan=lifespan), port=port, log_level="warning")


def fork_each(lines: Iterable[str]) -> None:
    """Fork a server for each line, until there are no more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets those that end
    for line in lines:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            port, folder, streams = json.loads(line)
            main(port, Path(folder), streams=streams)
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    fork_each(sys.stdin)
