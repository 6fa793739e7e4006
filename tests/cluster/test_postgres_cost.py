"""What a message costs on PostgreSQL, in counts that do not depend on the machine: how often a node
waits for the database, and how many transactions it commits."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from psycopg.pq.abc import PGresult

from agentpost.agents import Job, Turn
from agentpost.db.postgres_pipeline import Pipeline
from agentpost.server import Server, start
from agentpost.settings import load_settings
from tests.servers import Postgres
from tests.waiting import PATIENCE

KEY = "svc_key_" + "5" * 48
ROUND_TRIPS_OF_AN_ECHO = 6
COMMITS_OF_A_JOB = 12


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
    """What all connections of this process do, from `begin` on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.round_trips = 0
        self.statements: list[str] = []
        take_all, send, end = Pipeline._take_all, Pipeline.send, Pipeline._end

        def watched_take(pipeline: Pipeline, **given: Any) -> PGresult | None:
            self.round_trips += 1
            self.statements.append("-- answer")
            return take_all(pipeline, **given)

        def watched_send(pipeline: Pipeline, sql: str, *given: Any, **more: Any) -> None:
            self.statements.append(sql)
            send(pipeline, sql, *given, **more)

        def watched_end(pipeline: Pipeline, statement: bytes) -> str:
            self.statements.append(statement.decode())
            ended: str = end(pipeline, statement)
            return ended

        monkeypatch.setattr(Pipeline, "_take_all", watched_take)
        monkeypatch.setattr(Pipeline, "send", watched_send)
        monkeypatch.setattr(Pipeline, "_end", watched_end)

    def begin(self) -> None:
        self.round_trips, self.statements = 0, []

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")


@pytest.fixture
async def server(
    tmp_path: Path, postgres: Postgres, fresh_postgres: Callable[..., str]
) -> AsyncIterator[Server]:
    settings = load_settings(
        data_dir=str(tmp_path),
        agent=f"{__name__}:agent",
        database_url=fresh_postgres(postgres.schema()),
        bootstrap_api_key=KEY,
        bootstrap_credits=10,
    )
    running = await start(settings)
    await running._parts.background.stop()  # what it does regularly is not what a message costs
    yield running
    await running.stop()


async def test_an_echo_and_a_job_of_one_step(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=server.app),
        base_url="http://test",
        headers={"Authorization": f"Bearer {KEY}"},
    )

    async def send(text: str) -> dict[str, Any]:
        body = {"message": text, "conversation": text}
        answer = await client.post("/v1/messages", json=body)
        message: dict[str, Any] = answer.json()
        assert answer.status_code == 201, message
        async with asyncio.timeout(PATIENCE):
            while not message["final"]:
                path = f"/v1/messages/{message['id']}?wait=20"
                message = (await client.get(path)).json()
        assert message["status"] == "completed"
        return message

    for text in ("echo", "job"):
        await send(text)  # statements and keys are known from here on
    watch = Watch(monkeypatch)
    await send("echo")
    assert not [sql for sql in watch.statements if "notify" in sql]
    assert watch.commits == 2, watch.statements
    assert watch.round_trips <= ROUND_TRIPS_OF_AN_ECHO, (watch.round_trips, watch.statements)
    watch.begin()
    await send("job")
    assert watch.commits <= COMMITS_OF_A_JOB, watch.statements
    assert not [sql for sql in watch.statements if "notify" in sql or "procrastinate" in sql]
    await client.aclose()
