"""What a message costs on PostgreSQL, in counts that do not depend on the machine: how often a node
waits for the database, how many transactions it commits, and what it tells other nodes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from psycopg.pq.abc import PGresult

from agentpost.agents import Job, Turn
from agentpost.db.postgres_pipeline import Pipeline
from agentpost.engine.dispatch import NoticeEngine
from agentpost.server import Server, start
from agentpost.settings import load_settings
from agentpost.wakeups import postgres as wakeups_of_postgres
from agentpost.wakeups.base import Wakeups
from agentpost.wakeups.postgres import PostgresWakeups
from agentpost.wakeups.sender import NoticeSender
from tests.servers import Postgres
from tests.waiting import PATIENCE, eventually_awaited

KEY = "svc_key_" + "5" * 48
ROUND_TRIPS_OF_AN_ECHO = 6
ROUND_TRIPS_OF_A_JOB = 24
ROUND_TRIPS_OF_A_JOB_ON_ANOTHER_NODE = 36
COMMITS_OF_A_JOB = 8
COMMITS_OF_A_JOB_ON_ANOTHER_NODE = 12


async def agent(turn: Turn) -> None:
    """Answer, or start a job of one step."""
    if turn.message.text == "job":
        await turn.start(one_step, "One step")
    turn.reply("as you like")


async def one_step(job: Job) -> str:
    done: str = await job.step(said)
    return done


async def said() -> str:
    return "done"


class Watch:
    """What all nodes of this process do, from `begin` on, but for what they do every second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begin()
        take_all, send = Pipeline._take_all, Pipeline.send
        post = NoticeSender.post

        def watched_take(pipeline: Pipeline, **given: Any) -> PGresult | None:
            self._saw("-- answer")
            return take_all(pipeline, **given)

        def watched_send(pipeline: Pipeline, sql: str, *given: Any, **more: Any) -> None:
            self._saw(sql)
            send(pipeline, sql, *given, **more)

        def watched_post(sender: NoticeSender, topic: str, subject: str) -> None:
            self.notices.append(f"{topic} {subject}")
            post(sender, topic, subject)

        monkeypatch.setattr(Pipeline, "_take_all", watched_take)
        monkeypatch.setattr(Pipeline, "send", watched_send)
        monkeypatch.setattr(NoticeSender, "post", watched_post)

    def begin(self) -> None:
        self.statements: list[str] = []
        self.notices: list[str] = []

    @property
    def round_trips(self) -> int:
        return self.statements.count("-- answer")

    @property
    def commits(self) -> int:
        """Transactions, those that only read and those that send notices included."""
        return self.statements.count("COMMIT") + len(self.notices)

    def _saw(self, statement: str) -> None:
        if threading.current_thread().name != "heartbeat":
            self.statements.append(statement)


NodeMaker = Callable[[str], Awaitable[Server]]


@pytest.fixture
async def node(
    tmp_path: Path, postgres: Postgres, fresh_postgres: Callable[..., str]
) -> AsyncIterator[NodeMaker]:
    """`await node(role)` starts a node; all are on one database."""
    url = fresh_postgres(postgres.schema())
    async with AsyncExitStack() as ends:

        async def started(role: str) -> Server:
            settings = load_settings(
                data_dir=str(tmp_path),
                agent=f"{__name__}:agent",
                database_url=url,
                role=role,
                bootstrap_api_key=KEY,
                bootstrap_credits=10,
            )
            running = await start(settings)
            ends.push_async_callback(running.stop)
            await running._background.stop()  # what it does regularly no message costs
            return running

        yield started


def reach(wakeups: Wakeups) -> bool:
    """Whether hints about messages go to other nodes."""
    assert isinstance(wakeups, PostgresWakeups)
    return wakeups._has_readers_elsewhere()


async def send_and_follow(server: Server, text: str) -> None:
    """Send a message and follow it to its end."""
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=server.app),
        base_url="http://test",
        headers={"Authorization": f"Bearer {KEY}"},
    ) as client:
        body = {"message": text, "conversation": text}
        answer = await client.post("/v1/messages", json=body)
        message: dict[str, Any] = answer.json()
        assert answer.status_code == 201, message
        async with asyncio.timeout(PATIENCE):
            while not message["final"]:
                path = f"/v1/messages/{message['id']}?wait=20"
                message = (await client.get(path)).json()
        assert message["status"] == "completed"


async def test_a_node_alone(node: NodeMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await node("all")
    for text in ("echo", "job"):
        await send_and_follow(server, text)  # statements and keys are known from here on
    watch = Watch(monkeypatch)
    await send_and_follow(server, "echo")
    assert watch.notices == [], "nobody else waits"
    assert watch.commits == 2, (watch.statements, watch.notices)
    assert watch.round_trips <= ROUND_TRIPS_OF_AN_ECHO, (watch.round_trips, watch.statements)
    watch.begin()
    await send_and_follow(server, "job")
    assert watch.commits <= COMMITS_OF_A_JOB, (watch.statements, watch.notices)
    assert watch.round_trips <= ROUND_TRIPS_OF_A_JOB, (watch.round_trips, watch.statements)
    assert not [sql for sql in watch.statements if "notify" in sql]


async def test_a_node_for_the_api_and_one_for_jobs(
    node: NodeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups_of_postgres, "_JOINING_SECONDS", 0.0)
    api, worker = await node("api"), await node("worker")
    engine = api.ctx.engine
    assert isinstance(engine, NoticeEngine)

    async def know_each_other() -> bool:
        listeners = (api.ctx.wakeups, worker.ctx.wakeups)
        return bool(engine.workers()) and [reach(each) for each in listeners] == [False, True]

    await eventually_awaited(know_each_other)
    await send_and_follow(api, "job")
    watch = Watch(monkeypatch)
    await send_and_follow(api, "job")
    assert watch.commits <= COMMITS_OF_A_JOB_ON_ANOTHER_NODE, (watch.statements, watch.notices)
    waits = watch.round_trips
    assert waits <= ROUND_TRIPS_OF_A_JOB_ON_ANOTHER_NODE, (waits, watch.statements)
    assert sorted(notice.split()[0] for notice in watch.notices) == ["run", "wake"], watch.notices
    assert not [sql for sql in watch.statements if "notify" in sql]
