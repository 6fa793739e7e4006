"""A service as the agent: `http:<url>`. It gets one signed POST for each turn and for each part of
a job, and answers with lines of JSON (docs/adapters.md: A service).

What a request was answered is recorded, so a service is never asked twice for what is known; the
key that a repeated request has in common with the first is its `webhook-id`.
"""

import asyncio
import json
from typing import Final

from agentpost.agents.adapters.bound import bind, bound
from agentpost.agents.adapters.operations import (
    Dialect,
    JobCalls,
    Operation,
    TurnCalls,
    described_file,
    job_line,
    turn_line,
)
from agentpost.agents.adapters.surroundings import Surroundings
from agentpost.agents.base import Job, JobFailed, Json, Turn, step_key

KIND: Final = "http"
ANSWER_BYTES_MAX: Final = 900_000
"""The longest answer, in bytes: it is recorded."""
TURN_SECONDS: Final = 100.0
"""How long a service may take to answer a turn, in seconds."""
JOB_SECONDS: Final = 600.0
"""How long it may take for one part of a job, in seconds."""
TURN_REQUESTS_MAX: Final = 10
"""How often a service may ask to be called again in one turn."""
RETRIES: Final = 3


class ServiceFailed(Exception):
    """The service did not answer, or not as the protocol has it."""


class Http:
    """The agent of the setting `http:<url>`."""

    _surroundings: Surroundings

    def __init__(self, url: str) -> None:
        self._url = url

    def attach(self, surroundings: Surroundings) -> None:
        """Give it what the server has for it; raises `ValueError` when there is no secret."""
        if not surroundings.secret.startswith("whsec_"):
            raise ValueError(
                "AGENTPOST_AGENT is a service, whose requests are signed: set"
                " AGENTPOST_AGENT_SECRET to whsec_ and at least 24 random bytes in base64."
            )
        self._surroundings = surroundings

    async def take_turn(self, turn: Turn) -> None:
        """The agent function."""
        operation = await turn_line(turn, texts=True)
        calls = TurnCalls(turn, DIALECT)
        data: Json = None
        results: list[Json] = []
        for _ in range(TURN_REQUESTS_MAX):
            body = _body(operation, data, results, [])

            async def post(_name: str, body: bytes = body) -> Json:
                async with asyncio.timeout(TURN_SECONDS):
                    return await self._post(body, calls)

            results, last = await _make_all(calls, await turn.step(post, self._url))
            if last is None:
                return
            data = last.get("data")
        raise ServiceFailed(f"it asked to be called again more than {TURN_REQUESTS_MAX} times")

    async def work(self, job: Job, name: str, args: Json) -> str:
        """Run one job."""
        files: list[Json] = [described_file(file) for file in await job.files()]
        calls = JobCalls(job, DIALECT)
        data: Json = None
        results: list[Json] = []
        wait = 0.0
        while True:
            inbox = [{"text": s.text, "at": s.at} for s in await job.inbox(wait)]
            body = _body(job_line(job, name, args, files), data, results, inbox)

            async def post(_name: str, body: bytes = body) -> Json:
                job.delta("", reset=True)
                return await self._post(body, calls)

            answer = await job.step(post, name, timeout=JOB_SECONDS, retries=RETRIES)
            results, last = await _make_all(calls, answer, ends=("end", "fail"))
            if last is None or last["op"] == "end":
                return str((last or {}).get("text") or "")
            if last["op"] == "fail":
                raise JobFailed(str(last.get("text", "")))
            data, wait = last.get("data"), float(last.get("wait", 0))

    async def _post(self, body: bytes, calls: TurnCalls | JobCalls) -> Json:
        """Send it and read the answer: what is for this moment is done now, the rest is given
        back, to be recorded."""
        way_out, headers = self._surroundings.way_out, self._surroundings.sign(step_key(), body)
        ops: list[Json] = []
        async with way_out.stream("POST", self._url, headers, body) as answer:
            if answer.status in (408, 429) or answer.status >= 500:
                raise ServiceFailed(f"the agent's service answered with HTTP {answer.status}")
            if answer.status != 200:
                return {"refused": answer.status}
            async for line in answer.lines(ANSWER_BYTES_MAX):
                if not line.strip():
                    continue
                op = DIALECT.read(line)
                if op["op"] in calls.AT_ONCE:
                    await calls.make(op)
                else:
                    ops.append(op)
        return {"ops": ops}


def agent_of(rest: str) -> Http:
    """The agent for what stands behind `http:`; raises `ValueError` when that is no URL."""
    url = f"http:{rest}" if rest.startswith("//") else rest
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not a URL")
    return bind(KIND, Http(url))


async def work(job: Job, name: str, args: Json) -> str:
    """The job function of every service's jobs."""
    agent: Http = bound(KIND)
    return await agent.work(job, name, args)


DIALECT: Final = Dialect(work, ServiceFailed, has_paths=False)


async def _make_all(
    calls: TurnCalls | JobCalls, answer: Operation, ends: tuple[str, ...] = ()
) -> tuple[list[Json], Operation | None]:
    """Do what an answer said: the results, which are told to the service when it asks to be called
    again, and the operation that says so or ends the run, if there is one."""
    if "refused" in answer:
        raise ServiceFailed(f"the agent's service answered with HTTP {answer['refused']}")
    results: list[Json] = []
    again: Operation | None = None
    for op in answer["ops"]:
        if op["op"] in ends:
            return results, op
        if op["op"] == "again":
            again = op
        elif (result := await calls.make(op)) is not None:
            results.append(result)
    return results, again


def _body(operation: Operation, data: Json, results: list[Json], inbox: list[Operation]) -> bytes:
    whole = {**operation, "data": data, "results": results, "inbox": inbox}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()
