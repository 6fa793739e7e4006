"""The floor: the least a server can do and still do the same durable job.

It accepts a message durably, runs an echo turn, makes the outcome durable, answers, and lets
readers wait: two grouped commits per run at ``synchronous=FULL``, keys checked by SHA-256,
time-ordered ids, one turn at a time per conversation, unfinished messages picked up again at the
start. It has no limits, credits, files, webhooks, idempotency or journal: what a full server costs
above it is the price of those. It reads the same environment variables as the server under test.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.floor_db import Statement, Store

REPLY_SECONDS = 30.0
WAIT_SECONDS_MAX = 45.0
KEEP_ALIVE_SECONDS = 75
# The writer thread must get the interpreter soon beside a busy event loop.
SWITCH_SECONDS = 0.0005

INSERT = (
    "INSERT INTO messages(id, conversation, text, status, created_at, updated_at)"
    " VALUES (?, ?, ?, 'processing', ?, ?)"
)
SELECT = "SELECT id, status, reply, job, created_at, updated_at, settled_at FROM messages"
ENTRY = "INSERT OR REPLACE INTO entries(message_id, seq, type, text, at) VALUES (?, ?, ?, ?, ?)"
REPLIED = "UPDATE messages SET status = ?, reply = ?, job = ?, updated_at = ? WHERE id = ?"
SETTLED = "UPDATE messages SET status = 'completed', settled_at = ? WHERE id = ?"

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Floor:
    """Turns and jobs over the store; readers are woken after each commit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids = itertools.count()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._gates: dict[str, asyncio.Event] = {}
        self._waiters: dict[str, list[asyncio.Future[None]]] = {}

    def recover(self) -> None:
        """Run what an earlier process left unfinished."""
        unfinished = "SELECT id, conversation, text FROM messages WHERE status = 'processing'"
        for message_id, conversation, text in self._store.rows(unfinished):
            self._spawn(self._turn(message_id, conversation, text))

    async def accept(self, text: str, conversation: str) -> bytes:
        """Make the message durable and run its turn; the message as it is when the turn ended."""
        message_id = f"msg_{time.time_ns() // 1000:014x}{next(self._ids):08x}"
        at = now()
        await self._store.write((INSERT, (message_id, conversation, text, at, at)))
        turn = self._spawn(self._turn(message_id, conversation, text))
        await asyncio.wait((turn,), timeout=REPLY_SECONDS)
        return self.message(message_id) or b""

    async def wait(self, message_id: str, seconds: float) -> bytes | None:
        """The message once it has changed or is final, at the latest after ``seconds``."""
        answer = self.message(message_id)
        if seconds > 0 and answer is not None and not json.loads(answer)["final"]:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.setdefault(message_id, []).append(waiter)
            await asyncio.wait((waiter,), timeout=seconds)
            answer = self.message(message_id)
        return answer

    def message(self, message_id: str) -> bytes | None:
        """The message as JSON; None when there is none."""
        rows = self._store.rows(f"{SELECT} WHERE id = ?", message_id)
        return render(*rows[0]) if rows else None

    def entries(self, message_id: str) -> bytes:
        """The message's event log in one page."""
        log = "SELECT seq, type, text, at FROM entries WHERE message_id = ? ORDER BY seq"
        names = ("seq", "type", "text", "at")
        data = [dict(zip(names, row, strict=True)) for row in self._store.rows(log, message_id)]
        return json.dumps({"object": "list", "data": data, "has_more": False}).encode()

    async def _turn(self, message_id: str, conversation: str, text: str) -> None:
        # The name must be held: the dictionary forgets a lock that nobody refers to.
        lock = self._turns.get(conversation)
        if lock is None:
            lock = self._turns[conversation] = asyncio.Lock()
        async with lock:
            match text.split():
                case ["job"]:
                    await self._start(message_id, self._steps(message_id, 1))
                case ["steps", count]:
                    await self._start(message_id, self._steps(message_id, int(count)))
                case ["wait", number]:
                    await self._start(message_id, self._hold(message_id, number))
                case ["release", number]:
                    self._gate(number).set()
                    await self._replied(message_id, "completed", "released", None)
                case _:
                    await self._replied(message_id, "completed", text, None)

    async def _start(self, message_id: str, job: Awaitable[None]) -> None:
        await self._replied(message_id, "processing", "started", f"exe_{message_id[4:]}")
        self._spawn(job)

    async def _steps(self, message_id: str, count: int) -> None:
        stamps: list[int] = []
        for step in range(count):
            stamps.append(time.monotonic_ns() // 1000)
            await self._store.write((ENTRY, (message_id, step + 1, "progress", "", now())))
        await self._settled(message_id, count + 1, json.dumps(stamps))

    async def _hold(self, message_id: str, number: str) -> None:
        await self._gate(number).wait()
        await self._settled(message_id, 1, "released")

    def _gate(self, number: str) -> asyncio.Event:
        return self._gates.setdefault(number, asyncio.Event())

    async def _replied(self, message_id: str, status: str, reply: str, job: str | None) -> None:
        at = now()
        await self._commit(
            message_id,
            (REPLIED, (status, reply, job, at, message_id)),
            (ENTRY, (message_id, 0, "agent_reply", reply, at)),
        )

    async def _settled(self, message_id: str, seq: int, result: str) -> None:
        at = now()
        await self._commit(
            message_id,
            (SETTLED, (at, message_id)),
            (ENTRY, (message_id, seq, "result", result, at)),
        )

    async def _commit(self, message_id: str, *statements: Statement) -> None:
        await self._store.write(*statements)
        for waiter in self._waiters.pop(message_id, ()):
            if not waiter.done():
                waiter.set_result(None)

    def _spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def render(
    message_id: str,
    status: str,
    reply: str | None,
    job: str | None,
    created_at: str,
    updated_at: str,
    settled_at: str | None,
) -> bytes:
    """A Message with the contract's fields, so that the answers weigh about the same."""
    final = status != "processing"
    jobs: list[dict[str, Any]] = []
    if job is not None:
        jobs.append(
            {
                "job_id": job,
                "kind": "execution",
                "role": "execution",
                "work_id": "wrk_floor",
                "title": "Job",
                "status": "completed" if final else "running",
                "reason": None,
                "final": final,
                "queued": None,
                "resume_by": None,
                "link": "http://127.0.0.1/chat/wrk_floor",
                "started_at": updated_at,
                "settled_at": settled_at,
                "files": [],
            }
        )
    body = {
        "id": message_id,
        "object": "message",
        "status": status,
        "reason": None,
        "question": None,
        "final": final,
        "reply": reply,
        "jobs": jobs,
        "files": [],
        "notes": [],
        "credits_used": 0,
        "created_at": created_at,
        "updated_at": updated_at,
    }
    return json.dumps(body).encode()


def now() -> str:
    """UTC with microseconds and a trailing Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def routes(floor: Floor, key_hashes: frozenset[str]) -> list[Route]:
    """The subset of the HTTP API the load needs."""

    def guarded(handler: Handler) -> Handler:
        async def checked(request: Request) -> Response:
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            if hashlib.sha256(token.encode()).hexdigest() not in key_hashes:
                return answer(b'{"error": "unauthorized"}', 401)
            return await handler(request)

        return checked

    async def create(request: Request) -> Response:
        body = json.loads(await request.body())
        text = body.get("message", "").strip()
        if not text:
            return answer(b'{"error": "empty_message"}', 400)
        return answer(await floor.accept(text, body.get("conversation", "")), 201)

    async def read(request: Request) -> Response:
        seconds = min(float(request.query_params.get("wait", "0")), WAIT_SECONDS_MAX)
        message = await floor.wait(request.path_params["id"], seconds)
        return answer(b'{"error": "not_found"}', 404) if message is None else answer(message)

    async def events(request: Request) -> Response:
        return answer(floor.entries(request.path_params["id"]))

    async def ready(_: Request) -> Response:
        return answer(b'{"status": "ready"}')

    return [
        Route("/v1/messages", guarded(create), methods=["POST"]),
        Route("/v1/messages/{id}", guarded(read)),
        Route("/v1/messages/{id}/events", guarded(events)),
        Route("/readyz", ready),
    ]


def answer(body: bytes, status: int = 200) -> Response:
    """A JSON response."""
    return Response(body, status, media_type="application/json")


def main() -> None:
    """Serve until told to stop."""
    sys.setswitchinterval(SWITCH_SECONDS)
    path = Path(os.environ["AGENTPOST_DATA_DIR"]) / "floor.db"
    key = os.environ["AGENTPOST_BOOTSTRAP_API_KEY"]
    key_hashes = frozenset({hashlib.sha256(key.encode()).hexdigest()})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        store = Store(path)
        floor = Floor(store)
        app.router.routes.extend(routes(floor, key_hashes))
        floor.recover()
        yield
        store.close()

    uvicorn.run(
        Starlette(lifespan=lifespan),
        host=os.environ.get("AGENTPOST_HOST", "127.0.0.1"),
        port=int(os.environ["AGENTPOST_PORT"]),
        access_log=False,
        lifespan="on",
        log_level="warning",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()
