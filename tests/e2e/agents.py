"""The tests' agent: a message is a script, so that each test says what its agent does.

A script is a JSON list of operations, each a list of a name and its arguments. Any other text is
answered with that text. Gates are how a test holds the agent at a place of its choice: the agent
says that it has come there and waits for the test to let it pass.
"""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agentpost.agents import Job, JobFailed, StorageFull, Turn
from tests.e2e.agent_steps import (
    broken,
    build,
    build_marked,
    build_marked_here,
    call_back,
    fail_once,
    job_output,
    leak,
    mark,
    mark_behind_gate,
    mark_here,
    open_or_not,
    pass_gate,
    pid_behind_gate,
    reply_answer,
    sleep_in_thread,
    tidied,
    turn_output,
    watched,
)

Script = list[list[Any]]
ODD_TEXT = "odd \ud800\0 text"
"""Text that no database stores and no script can carry."""


async def agent(turn: Turn) -> None:
    """Do what the message says."""
    if turn.answer is not None and not turn.message.text.startswith("[["):
        return await reply_answer(turn)
    if not turn.message.text.startswith("[["):
        return turn.reply(f"You said: {turn.message.text}")
    script: Script = json.loads(turn.message.text)
    for name, *arguments in script:
        await TURN_OPERATIONS[name](turn, *arguments)
    return None


async def work(job: Job, script: Script, file: Any = None) -> str | None:
    """A job that does what its script says; ``return`` ends it with a text, or with a long one:
    what is repeated, how often, and the end."""
    for name, *arguments in script:
        if name == "return":
            return _text(*arguments)
        await JOB_OPERATIONS[name](job, *arguments)
    return None


def _text(text: str, times: int = 1, end: str = "") -> str:
    return f"{text * times}{end}"


# --- turns ----------------------------------------------------------------------------------------
async def _reply(turn: Turn, text: str) -> None:
    turn.reply(text)


async def _ask(turn: Turn, question: str, wanted: dict[str, Any] | None = None) -> None:
    turn.ask(question, **(wanted or {}))


async def _see(turn: Turn) -> None:
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


async def _read(turn: Turn) -> None:
    turn.reply("\n".join([await file.text() for file in turn.message.files]))


async def _gate_turn(turn: Turn, name: str) -> None:
    await pass_gate(name)


async def _block(turn: Turn, seconds: float, gate: str = "blocks") -> None:
    ends, opened = time.monotonic() + seconds, Path(os.environ["TEST_GATES"]) / gate
    opened.with_name(f"{gate}.reached").touch()
    while time.monotonic() < ends and not opened.exists():
        time.sleep(0.01)  # noqa: ASYNC251 - what an agent must not do


async def _leak_turn(turn: Turn, kind: str) -> None:
    leak(kind)


async def _start_oddly(turn: Turn, script: Script) -> None:
    started = await turn.start(work, title=ODD_TEXT, script=script)
    await turn.join(started.job_id, ODD_TEXT)
    turn.reply(ODD_TEXT)


async def _stubborn(turn: Turn, gate: str) -> None:
    """Never ends and refuses to be cancelled."""
    while not (Path(os.environ["TEST_GATES"]) / gate).exists():
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue


async def _start(turn: Turn, title: str, script: Script, work_id: str | None = None) -> None:
    started = await turn.start(work, title=title, work=work_id, script=script)
    turn.reply(f"{title}: {started.state}")


async def _start_with_file(turn: Turn, title: str, script: Script) -> None:
    await turn.start(work, title=title, script=script, file=turn.message.files[0])


async def _join(turn: Turn, job_id: str | None = None, text: str | None = None) -> None:
    joined = await turn.join(job_id or turn.running[0].job_id, text)
    turn.reply(f"joined: {joined}")


async def _stop(turn: Turn, job_id: str | None = None) -> None:
    stopped = await turn.stop(job_id or turn.running[0].job_id)
    turn.reply(f"stopped: {stopped}")


async def _step_turn(turn: Turn, name: str) -> None:
    await turn.step(mark, name)


async def _step_turn_pid(turn: Turn, name: str, gate: str) -> None:
    await turn.step(pid_behind_gate, name, gate)


async def _step_turn_gate(turn: Turn, name: str, gate: str) -> None:
    await turn.step(mark_behind_gate, name, gate)


async def _step_turn_watched(turn: Turn, name: str) -> None:
    await watched(turn.step(mark, name), name)


async def _step_turn_tidied(turn: Turn, name: str, gate: str) -> None:
    step = turn.step(mark_behind_gate, name, gate)
    await tidied(step, lambda: turn.step(mark, f"{name}.tidied"))


async def _unrepeatable_turn(turn: Turn, gate: str) -> None:
    await turn.step(mark, open_or_not(gate))


async def _write_turn(turn: Turn, path: str, text: str) -> None:
    await turn.write(path, text)


async def _write_turn_if_room(turn: Turn, path: str, text: str) -> None:
    """Reply with what prevents it."""
    try:
        await turn.write(path, text)
    except StorageFull as error:
        turn.reply(f"{type(error).__name__}: {error}")


async def _remember(turn: Turn, key: str, value: str) -> None:
    turn.state[key] = value


Operation = Callable[..., Awaitable[None]]


async def _delta(run: Turn | Job, *pieces: str) -> None:
    for piece in pieces:
        run.delta(piece)


TURN_OPERATIONS: dict[str, Operation] = {
    "delta": _delta,
    "reply": _reply,
    "answer": reply_answer,
    "ask": _ask,
    "output": turn_output,
    "see": _see,
    "read": _read,
    "gate": _gate_turn,
    "block": _block,
    "leak": _leak_turn,
    "start_oddly": _start_oddly,
    "stubborn": _stubborn,
    "start": _start,
    "start_with_file": _start_with_file,
    "join": _join,
    "stop": _stop,
    "step": _step_turn,
    "step_gate": _step_turn_gate,
    "step_pid": _step_turn_pid,
    "unrepeatable": _unrepeatable_turn,
    "step_watched": _step_turn_watched,
    "step_tidied": _step_turn_tidied,
    "write": _write_turn,
    "write_if_room": _write_turn_if_room,
    "remember": _remember,
}


# --- jobs -----------------------------------------------------------------------------------------
async def _progress(job: Job, step: str) -> None:
    await job.progress(step)


async def _many_progress(job: Job, count: int) -> None:
    for n in range(count):
        await job.progress(f"step {n}")


async def _gate_job(job: Job, name: str) -> None:
    await pass_gate(name)


async def _step_job(job: Job, name: str, cost: float = 0) -> None:
    await job.step(mark, name, cost=cost)


async def _step_calling(job: Job, name: str, gate: str) -> None:
    async def inner() -> str:
        return await call_back(job, name, gate)

    await job.step(inner)


async def _step_pid(job: Job, name: str, gate: str) -> None:
    await job.step(pid_behind_gate, name, gate)


async def _step_here(job: Job, name: str, cost: float = 0) -> None:
    await job.step(mark_here, name, cost=cost)


async def _unrepeatable_job(job: Job, gate: str) -> None:
    await job.step(mark, open_or_not(gate))


async def _step_gate(job: Job, name: str, gate: str, cost: float = 0) -> None:
    await job.step(mark_behind_gate, name, gate, cost=cost)


async def _step_watched(job: Job, name: str, cost: float = 0) -> None:
    await watched(job.step(mark, name, cost=cost), name)


async def _step_tidied(job: Job, name: str, gate: str) -> None:
    step = job.step(mark_behind_gate, name, gate)
    await tidied(step, lambda: job.progress("cleaning up"))


async def _write_watched(job: Job, path: str, text: str, cost: float = 0) -> None:
    await watched(job.write(path, text, cost=cost), path)


async def _threaded(job: Job, name: str, seconds: float) -> None:
    await job.step(sleep_in_thread, name, seconds)


async def _steps_at_once(job: Job, *names: str) -> None:
    """In a task group, whose error is a group of errors."""
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(watched(job.step(mark, name), name))


async def _broken_step(job: Job, cost: float = 0) -> None:
    await job.step(broken, cost=cost)


async def _write_job(
    job: Job, path: str, text: str, cost: float = 0, label: str | None = None
) -> None:
    await job.write(path, text, cost=cost, label=label)


async def _write_job_if_room(job: Job, path: str, text: str, cost: float = 0) -> None:
    """Tell what prevents it."""
    try:
        await job.write(path, text, cost=cost)
    except StorageFull as error:
        await job.progress(f"{type(error).__name__}: {error}")


async def _build(job: Job, path: str, text: str, cost: float = 0) -> None:
    await job.write(path, build, text, cost=cost)


async def _build_marked(job: Job, path: str, name: str) -> None:
    await job.write(path, build_marked, name)


async def _build_marked_here(job: Job, path: str, name: str) -> None:
    await job.write(path, build_marked_here, name)  # type: ignore[arg-type]


async def _step_failing_once(job: Job, name: str, gate: str) -> None:
    await job.step(fail_once, name, gate, retries=1)


async def _charge(job: Job, amount: float) -> None:
    await job.charge(amount, "for work done")


async def _ask_job(job: Job, question: str, wanted: dict[str, Any] | None = None) -> None:
    job.ask(question, **(wanted or {}))


async def _inbox(job: Job, wait: float) -> None:
    """Wait for follow-ups and tell what they said."""
    for said in await job.inbox(wait):
        await job.progress(f"heard: {said.text}")


async def _fail(job: Job, text: str) -> None:
    raise JobFailed(text)


async def _leak_job(job: Job, kind: str) -> None:
    leak(kind)


async def _talk_oddly(job: Job) -> None:
    await job.progress(ODD_TEXT)
    await job.charge(0.5, ODD_TEXT)
    job.ask(ODD_TEXT)


async def _block_job(job: Job, seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 - what an agent must not do


async def _remember_job(job: Job, key: str, value: str) -> None:
    job.state[key] = value


async def _list_files(job: Job) -> None:
    names = sorted(file.name for file in await job.files())
    await job.progress(f"files: {' '.join(names)}")


JOB_OPERATIONS: dict[str, Operation] = {
    "delta": _delta,
    "progress": _progress,
    "many_progress": _many_progress,
    "gate": _gate_job,
    "step": _step_job,
    "step_here": _step_here,
    "step_calling": _step_calling,
    "step_pid": _step_pid,
    "step_gate": _step_gate,
    "unrepeatable": _unrepeatable_job,
    "step_watched": _step_watched,
    "step_tidied": _step_tidied,
    "write_watched": _write_watched,
    "threaded": _threaded,
    "steps_at_once": _steps_at_once,
    "broken_step": _broken_step,
    "write": _write_job,
    "write_if_room": _write_job_if_room,
    "build": _build,
    "build_marked": _build_marked,
    "build_marked_here": _build_marked_here,
    "step_failing_once": _step_failing_once,
    "charge": _charge,
    "ask": _ask_job,
    "output": job_output,
    "inbox": _inbox,
    "fail": _fail,
    "leak": _leak_job,
    "talk_oddly": _talk_oddly,
    "block": _block_job,
    "remember": _remember_job,
    "files": _list_files,
}
