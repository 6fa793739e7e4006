"""The agent of a simulation. What a turn and its jobs do stands in the text of the message, so a
run that is repeated makes the same calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from agentpost.agents import Job, JobFailed, Turn
from agentpost.agents.base import step_key

Effect = Callable[[str], Coroutine[Any, Any, None]]
"""Does something outside, for the step with that key; how long it takes is the world's business."""
Sleep = Callable[[float], Coroutine[Any, Any, None]]
"""Waits so many seconds; not while its node stands still."""
Action = list[Any]
"""What a job does next: a name and its argument."""


class StepRefused(Exception):
    """What the body of a step raises, where the plan says so."""


async def job(job: Job, plan: list[Action]) -> str:
    """Stands for the function below where only the name of a job is needed."""
    raise NotImplementedError


def agent_of(effect: Effect) -> Callable[[Turn], Coroutine[Any, Any, None]]:
    """The agent's function on a node."""

    async def agent(turn: Turn) -> None:
        plan = json.loads(turn.message.text)

        async def body() -> str:
            await effect(step_key())
            return "done"

        for _ in range(plan.get("steps", 0)):
            await turn.step(body)
        if plan.get("raises"):
            raise ValueError("the plan says so")
        if plan.get("join") and turn.running:
            await turn.join(turn.running[0].job_id)
        if plan.get("stop") and turn.running:
            await turn.stop(turn.running[-1].job_id)
        for n, actions in enumerate(plan.get("jobs", [])):
            await turn.start(job, f"Work {n}", plan=actions)
        if plan.get("write"):
            await turn.write("note.txt", "written by the turn")
        if plan.get("ask"):
            turn.ask("Which one?")
        turn.reply("Done.")

    return agent


def job_of(effect: Effect, sleep: Sleep) -> Callable[..., Coroutine[Any, Any, str]]:
    """The function of every job on a node."""

    async def run(job: Job, plan: list[Action]) -> str:
        async def body() -> str:
            await effect(step_key())
            return "done"

        async def charging() -> str:
            await job.charge(1)
            return await body()

        async def refused() -> str:
            await effect(step_key())
            raise StepRefused("the plan says so")

        for n, (name, value) in enumerate(plan):
            if name == "step":
                await job.step(body, cost=value)
            elif name == "charging":
                await job.step(charging)
            elif name == "refused":
                try:
                    await job.step(refused, cost=value, retries=0)
                except Exception:
                    await job.progress("One step was refused")
            elif name == "write":
                await job.write(f"{n}.txt", f"file {n}", cost=value)
            elif name == "charge":
                await job.charge(value)
            elif name == "progress":
                await job.progress(f"Step {n}")
            elif name == "inbox":
                await job.inbox(wait=value)
            elif name == "sleep":
                await sleep(value)
            elif name == "ask":
                job.ask("And now?")
            elif name == "fail":
                raise JobFailed("The plan says so.")
        job.state["ran"] = len(plan)
        return "The result."

    return run
