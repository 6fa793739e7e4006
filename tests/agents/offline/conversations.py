"""Conversations with the built-in agent over in-memory turns: each message sees those before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentpost.agents import File, Running, Started, WorkRef
from agentpost.agents.base import Json, Said
from agentpost.agents.offline.frame import Frame, from_json
from agentpost.agents.offline.turn import agent
from tests.agents.fakes import FakeTurn, StartedJob, said


@dataclass
class Conversation:
    """What was said and made so far."""

    state: dict[str, Json] = field(default_factory=dict)
    history: list[Said] = field(default_factory=list)
    works: list[WorkRef] = field(default_factory=list)

    async def say(
        self,
        text: str,
        *files: File,
        running: tuple[Running, ...] = (),
        outcome: Started | None = None,
        ended: bool = False,
        notes: tuple[str, ...] = (),
    ) -> FakeTurn:
        """Let the agent answer a message; what it starts is finished at once."""
        turn = FakeTurn(
            said(text, *files), history=list(self.history), works=list(self.works),
            state=self.state, running=running, ended=ended, notes=notes,
        )  # fmt: skip
        number = len(self.history)
        turn.outcome = outcome or Started(f"exe_{number}", f"work_{number}", "running")
        await agent(turn)
        self.state = turn.state
        self.history.append(turn.message)
        for at, job in enumerate(turn.started):
            work = job.work or f"work_{number}_{at}"
            state: dict[str, Json] = {
                "frame": job.args["frame"], "version": job.args["version"], "earlier": [],
            }  # fmt: skip
            self.works = [one for one in self.works if one.work_id != work]
            self.works.insert(0, WorkRef(work, job.title, "Done.", (), None, state))
        return turn


def frame(job: StartedJob) -> Frame:
    """The frame of a started job."""
    return from_json(job.args["frame"])
