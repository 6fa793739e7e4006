"""The tests' agent: a message is a script, so that each test says what its agent does.

A script is a JSON list of operations, each a list of a name and its arguments. Any other text is
answered with that text. Gates are how a test holds the agent at a place of its choice: the agent
says that it has come there and waits for the test to let it pass.
"""

import asyncio
import inspect
import json
import os
import time
from pathlib import Path
from typing import Any

from agentpost.agents import Job, JobFailed, OutputInvalid, StorageFull, Turn
from tests.e2e import agent_steps as steps

Script = list[list[Any]]
ODD_TEXT = "odd \ud800\0 text"
"""Text that no database stores and no script can carry."""


async def agent(turn: Turn) -> None:
    if turn.message.text.startswith("[["):
        for name, *arguments in json.loads(turn.message.text):
            await globals()[name](turn, *arguments)
    elif turn.answer is not None:
        await answer(turn)
    else:
        turn.reply(f"You said: {turn.message.text}")


async def work(job: Job, script: Script, file: Any = None) -> str | None:
    """A job that does what its script says; ``return`` ends it with a text, or with a long one:
    what is repeated, how often, and the end."""
    for name, *arguments in script:
        if name == "return":
            return _text(*arguments)
        await globals()[name](job, *arguments)
    return None


def _text(text: str, times: int = 1, end: str = "") -> str:
    return f"{text * times}{end}"


# --- operations by their names; ``run`` is a turn or a job ----------------------------------------
async def delta(run: Any, *pieces: str) -> None:
    for piece in pieces:
        run.delta(piece)


async def ask(run: Any, question: str, wanted: dict[str, Any] | None = None) -> None:
    run.ask(question, **(wanted or {}))


async def _say(run: Any, text: str) -> None:
    if hasattr(run, "reply"):
        run.reply(text)
    else:
        await run.progress(text)


async def output(run: Any, *values: Any) -> None:
    """Give each as the output until one fits."""
    for value in values:
        try:
            recorded = run.output(value)
            if inspect.isawaitable(recorded):
                await recorded
            return
        except OutputInvalid as error:
            count = f"{len(error.problems)} problems: " if hasattr(run, "reply") else ""
            await _say(run, f"{count}{error}")


async def gate(_: Any, name: str) -> None:
    await steps.pass_gate(name)


async def block(_: Any, seconds: float, gate: str = "blocks") -> None:
    ends, opened = time.monotonic() + seconds, Path(os.environ["TEST_GATES"]) / gate
    opened.with_name(f"{gate}.reached").touch()
    while time.monotonic() < ends and not opened.exists():
        time.sleep(0.01)  # noqa: ASYNC251 - what an agent must not do


async def leak(_: Any, kind: str) -> None:
    steps.leak(kind)


async def step(run: Any, name: str, cost: float = 0) -> None:
    await run.step(steps.mark, name, **_priced(cost))


def _priced(cost: float) -> dict[str, float]:
    """The option of a call that costs something, which turns do not have."""
    return {"cost": cost} if cost else {}


async def step_pid(run: Any, name: str, gate: str) -> None:
    await run.step(steps.pid_behind_gate, name, gate)


async def step_gate(run: Any, name: str, gate: str, cost: float = 0) -> None:
    await run.step(steps.mark_behind_gate, name, gate, **_priced(cost))


async def step_watched(run: Any, name: str, cost: float = 0) -> None:
    await steps.watched(run.step(steps.mark, name, **_priced(cost)), name)


async def step_tidied(run: Any, name: str, gate: str) -> None:
    step = run.step(steps.mark_behind_gate, name, gate)
    if hasattr(run, "reply"):
        await steps.tidied(step, lambda: run.step(steps.mark, f"{name}.tidied"))
    else:
        await steps.tidied(step, lambda: run.progress("cleaning up"))


async def unrepeatable(run: Any, gate: str) -> None:
    await run.step(steps.mark, steps.open_or_not(gate))


async def write(run: Any, path: str, text: str, cost: float = 0, label: str | None = None) -> None:
    await run.write(path, text, **_priced(cost), **({"label": label} if label else {}))


async def write_if_room(run: Any, path: str, text: str, cost: float = 0) -> None:
    """Tell what prevents it."""
    try:
        await write(run, path, text, cost)
    except StorageFull as error:
        await _say(run, f"{type(error).__name__}: {error}")


async def remember(run: Any, key: str, value: str) -> None:
    run.state[key] = value


# --- of turns -------------------------------------------------------------------------------------
async def reply(turn: Turn, text: str) -> None:
    turn.reply(text)


async def answer(turn: Turn) -> None:
    """Reply with what the turn takes for an answer, and to which message."""
    given = turn.answer
    turn.reply(json.dumps(given and [given.message_id, given.value]))


async def see(turn: Turn) -> None:
    """Reply with all that the turn sees; of what was said before only the first words."""
    files = [{"name": f.name, "size": f.size, "type": f.content_type} for f in turn.message.files]
    seen = {
        "files": files,
        "metadata": turn.metadata,
        "conversation": turn.conversation,
        "history": [[said.role, said.text[:80]] for said in turn.history],
        "running": [running.job_id for running in turn.running],
        "works": [[w.work_id, w.title, w.text, w.state] for w in turn.works],
        "notes": list(turn.notes),
        "credits": turn.credits,
        "state": turn.state,
    }
    turn.reply(json.dumps(seen))


async def read(turn: Turn) -> None:
    turn.reply("\n".join([await file.text() for file in turn.message.files]))


async def start_oddly(turn: Turn, script: Script) -> None:
    started = await turn.start(work, title=ODD_TEXT, script=script)
    await turn.join(started.job_id, ODD_TEXT)
    turn.reply(ODD_TEXT)


async def stubborn(_: Turn, gate: str) -> None:
    """Never ends and refuses to be cancelled."""
    while not (Path(os.environ["TEST_GATES"]) / gate).exists():
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue


async def start(turn: Turn, title: str, script: Script, work_id: str | None = None) -> None:
    started = await turn.start(work, title=title, work=work_id, script=script)
    turn.reply(f"{title}: {started.state}")


async def start_with_file(turn: Turn, title: str, script: Script) -> None:
    await turn.start(work, title=title, script=script, file=turn.message.files[0])


async def join(turn: Turn, job_id: str | None = None, text: str | None = None) -> None:
    joined = await turn.join(job_id or turn.running[0].job_id, text)
    turn.reply(f"joined: {joined}")


async def stop(turn: Turn, job_id: str | None = None) -> None:
    stopped = await turn.stop(job_id or turn.running[0].job_id)
    turn.reply(f"stopped: {stopped}")


# --- of jobs --------------------------------------------------------------------------------------
async def progress(job: Job, step: str) -> None:
    await job.progress(step)


async def many_progress(job: Job, count: int) -> None:
    for n in range(count):
        await job.progress(f"step {n}")


async def step_calling(job: Job, name: str, gate: str) -> None:
    async def inner() -> str:
        return await steps.call_back(job, name, gate)

    await job.step(inner)


async def step_here(job: Job, name: str, cost: float = 0) -> None:
    await job.step(steps.mark_here, name, cost=cost)


async def write_watched(job: Job, path: str, text: str, cost: float = 0) -> None:
    await steps.watched(job.write(path, text, cost=cost), path)


async def threaded(job: Job, name: str, seconds: float) -> None:
    await job.step(steps.sleep_in_thread, name, seconds)


async def steps_at_once(job: Job, *names: str) -> None:
    """In a task group, whose error is a group of errors."""
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(steps.watched(job.step(steps.mark, name), name))


async def broken_step(job: Job, cost: float = 0) -> None:
    await job.step(steps.broken, cost=cost)


async def build(job: Job, path: str, text: str) -> None:
    await job.write(path, steps.build, text)


async def build_marked(job: Job, path: str, name: str) -> None:
    await job.write(path, steps.build_marked, name)


async def build_marked_here(job: Job, path: str, name: str) -> None:
    await job.write(path, steps.build_marked_here, name)  # type: ignore[arg-type]


async def step_failing_once(job: Job, name: str, gate: str) -> None:
    await job.step(steps.fail_once, name, gate, retries=1)


async def charge(job: Job, amount: float) -> None:
    await job.charge(amount, "for work done")


async def inbox(job: Job, wait: float) -> None:
    """Wait for follow-ups and tell what they said."""
    for said in await job.inbox(wait):
        await job.progress(f"heard: {said.text}")


async def fail(_: Job, text: str) -> None:
    raise JobFailed(text)


async def talk_oddly(job: Job) -> None:
    await job.progress(ODD_TEXT)
    await job.charge(0.5, ODD_TEXT)
    job.ask(ODD_TEXT)


async def files(job: Job) -> None:
    names = sorted(file.name for file in await job.files())
    await job.progress(f"files: {' '.join(names)}")
