"""A service as the agent: `http:<url>`. It gets one signed POST for each turn and for each part of
a job, and answers with lines of JSON (docs/adapters.md: A service).

What a request was answered is recorded, so a service is never asked twice for what is known; the
key that a repeated request has in common with the first is its `webhook-id`.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Final, Protocol

from agentpost.agents.adapters.bound import bind, bound
from agentpost.agents.adapters.described import described_file, described_job, described_turn
from agentpost.agents.adapters.operations import Operation, contents, read
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

    def __init__(self, url: str) -> None:
        self._url = url
        self._surroundings: Surroundings | None = None

    def attach(self, surroundings: Surroundings) -> None:
        """Give it what the server has for it; raises `ValueError` when there is no secret."""
        if not surroundings.secret.startswith("whsec_"):
            raise ValueError(
                "AGENTPOST_AGENT is a service, whose requests are signed: set"
                " AGENTPOST_AGENT_SECRET to whsec_ and at least 24 random bytes in base64."
            )
        self._surroundings = surroundings

    async def run(self, turn: Turn) -> None:
        """The agent function."""
        operation: Operation = {
            "v": 1,
            "op": "turn",
            "turn": await described_turn(turn, texts=True),
        }
        data: Json = None
        results: list[Json] = []
        for _ in range(TURN_REQUESTS_MAX):
            body = _body(operation, data, results, [])

            async def post(_name: str, body: bytes = body) -> Json:
                async with asyncio.timeout(TURN_SECONDS):
                    return await self._post(body, _TurnLive(turn))

            results, again = [], None
            for op in _ops_of(await turn.step(post, self._url)):
                if op["op"] == "again":
                    again = op
                elif (result := await _turn_call(turn, op)) is not None:
                    results.append(result)
            if again is None:
                return
            data = again.get("data")
        raise ServiceFailed(f"it asked to be called again more than {TURN_REQUESTS_MAX} times")

    async def work(self, job: Job, name: str, args: Json) -> str:
        """Run one job."""
        files: list[Json] = [described_file(file) for file in await job.files()]
        operation: Operation = {"v": 1, "op": "job", "name": name, "args": args}
        data: Json = None
        results: list[Json] = []
        wait = 0.0
        while True:
            inbox = [{"text": s.text, "at": s.at} for s in await job.inbox(wait)]
            description = {**described_job(job), "files": files}
            body = _body({**operation, "job": description}, data, results, inbox)

            async def post(_name: str, body: bytes = body) -> Json:
                job.delta("", reset=True)
                return await self._post(body, _JobLive(job))

            ops = _ops_of(await job.step(post, name, timeout=JOB_SECONDS, retries=RETRIES))
            results, again = [], None
            for op in ops:
                if op["op"] == "end":
                    return str(op.get("text") or "")
                if op["op"] == "fail":
                    raise JobFailed(str(op.get("text", "")))
                if op["op"] == "again":
                    again = op
                elif (result := await _job_call(job, op)) is not None:
                    results.append(result)
            if again is None:
                return ""
            data, wait = again.get("data"), float(again.get("wait", 0))

    async def _post(self, body: bytes, live: _Live) -> Json:
        """Send it and read the answer: what is for this moment is done now, the rest is given
        back, to be recorded."""
        surroundings = self._surroundings
        assert surroundings is not None, "the server attaches it before it runs"
        headers = surroundings.sign(step_key(), body)
        ops: list[Json] = []
        async with surroundings.way_out.stream("POST", self._url, headers, body) as answer:
            if answer.status in (408, 429) or answer.status >= 500:
                raise ServiceFailed(f"the agent's service answered with HTTP {answer.status}")
            if answer.status != 200:
                return {"refused": answer.status}
            async for line in answer.lines(ANSWER_BYTES_MAX):
                if not line.strip() or await live(op := read(line, ServiceFailed)):
                    continue
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


class _Live(Protocol):
    async def __call__(self, op: Operation) -> bool:
        """Whether this was one of the operations that are done while the answer comes."""
        ...


class _TurnLive:
    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    async def __call__(self, op: Operation) -> bool:
        if op["op"] == "delta":
            self._turn.delta(op.get("text", ""), reset=bool(op.get("reset")))
            return True
        return False


class _JobLive:
    def __init__(self, job: Job) -> None:
        self._job = job

    async def __call__(self, op: Operation) -> bool:
        match op["op"]:
            case "delta":
                self._job.delta(op.get("text", ""), reset=bool(op.get("reset")))
            case "progress":
                await self._job.progress(op["text"])
            case "charge":
                await self._job.charge(op["amount"], op.get("note", ""))
            case _:
                return False
        return True


async def _turn_call(turn: Turn, op: Operation) -> Json:
    """Do what the answer said; the result is told to the service when it asks to be called again.
    None when there is none."""
    match op["op"]:
        case "reply":
            turn.reply(op["text"])
        case "ask":
            turn.ask(op["question"], choices=op.get("choices"), schema=op.get("schema"))
        case "output":
            turn.output(op["value"])
        case "state":
            _replace(turn.state, op["value"])
        case "start":
            name, args = op["job"], op.get("args", {})
            started = turn.start(work, op["title"], work=op.get("work"), name=name, args=args)
            return asdict(await started)
        case "join":
            return await turn.join(op["job_id"], op.get("text"))
        case "stop":
            return await turn.stop(op["job_id"])
        case "write":
            return described_file(await turn.write(op["path"], contents(op)))
        case _:
            raise ServiceFailed(f"a turn has no operation {op['op']!r}")
    return None


async def _job_call(job: Job, op: Operation) -> Json:
    match op["op"]:
        case "ask":
            job.ask(op["question"], choices=op.get("choices"), schema=op.get("schema"))
        case "output":
            await job.output(op["value"])
        case "state":
            _replace(job.state, op["value"])
        case "write":
            cost, label = op.get("cost", 0), op.get("label")
            file = await job.write(op["path"], contents(op), cost=cost, label=label)
            return described_file(file)
        case _:
            raise ServiceFailed(f"a job has no operation {op['op']!r}")
    return None


def _replace(state: dict[str, Json], value: dict[str, Json]) -> None:
    state.clear()
    state.update(value)


def _body(operation: Operation, data: Json, results: list[Json], inbox: list[Operation]) -> bytes:
    whole = {**operation, "data": data, "results": results, "inbox": inbox}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


def _ops_of(answer: Operation) -> list[Operation]:
    if "refused" in answer:
        raise ServiceFailed(f"the agent's service answered with HTTP {answer['refused']}")
    ops: list[Operation] = answer["ops"]
    return ops
