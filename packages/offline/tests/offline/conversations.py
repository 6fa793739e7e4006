"""Conversations with the built-in agent over in-memory turns: each message sees those before it."""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from agentpost.agents import File, Running, Started, WorkRef
from agentpost.agents.base import Json, Said
from agentpost_offline.frame import Frame, from_json
from agentpost_offline.turn import agent
from tests.agents.fakes import FakeTurn, StartedJob, file, utterance


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
        stopped: bool = False,
    ) -> FakeTurn:
        """Let the agent answer a message; what it starts is finished at once, or ``stopped``."""
        number = len(self.history)
        message = replace(utterance(text, *files), message_id=f"msg_{number}")
        turn = FakeTurn(
            message, history=list(self.history), works=list(self.works),
            state=self.state, running=running, ended=ended, notes=notes,
        )  # fmt: skip
        turn.outcome = outcome or Started(f"exe_{number}", f"work_{number}_0", "running")
        await agent(turn)
        self.state = turn.state
        reply = utterance("\n".join(turn.replies), role="agent")
        self.history += [turn.message, replace(reply, message_id=message.message_id)]
        for at, job in enumerate(turn.started):
            work = job.work or f"work_{number}_{at}"
            state: dict[str, Json] = {
                "frame": job.args["frame"], "version": job.args["version"], "earlier": [],
            }  # fmt: skip
            if stopped or (outcome is not None and outcome.state != "running"):
                state = next((one.state for one in self.works if one.work_id == work), {})
            self.works = [one for one in self.works if one.work_id != work]
            text = "Done." if state else ""
            self.works.insert(0, WorkRef(work, job.title, text, (), None, state))
        return turn


def csv_file(folder: Path, text: str, name: str = "table.csv") -> File:
    """A table as somebody attaches it: the same text is the same file beside ``folder``, which the
    agent then need not read again."""
    path = folder.parent / f"table-{sha256(text.encode()).hexdigest()[:16]}" / name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return file(path, "text/csv")


def frame(job: StartedJob) -> Frame:
    """The frame of a started job."""
    return from_json(job.args["frame"])


async def said(attached: File, *messages: str) -> FakeTurn:
    """The turn of the last of some messages; the file is attached to the first."""
    talk = Conversation()
    turn = await talk.say(messages[0], attached)
    for message in messages[1:]:
        turn = await talk.say(message)
    return turn
