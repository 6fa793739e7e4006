"""The turn and the job of every framework's agent: what is said, remembered, asked and joined.

The memory of a conversation is what the framework itself needs to go on. It is kept in the turn's
state when the run ended there, else in that of the work; the newer one counts.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo

from agentpost.agents.adapters.bound import bound
from agentpost.agents.adapters.recording import (
    Charge,
    JobRecorder,
    NeedsJob,
    Recorder,
    TurnRecorder,
)
from agentpost.agents.answers import OutputInvalid
from agentpost.agents.base import File, Job, JobFailed, Json, Turn
from agentpost.extraction import Unreadable

MEMORY_BYTES_MAX: Final = 400_000
"""The longest memory of a conversation, as JSON, in bytes."""
FILE_CHARACTERS_MAX: Final = 20_000
"""How much of an attached file's text a model is shown, in characters."""
TITLE_CHARACTERS_MAX: Final = 60
TIME_ZONE: Final = "timezone"
"""The caller's label of a message that names the user's time zone, such as Europe/Berlin."""
APPROVAL: Final = ("Yes", "No")
"""The choices of a question whether a tool may be called. Any other text is a no with a reason."""
_REPAIR: Final = "That does not fit what is asked for. Give it again, without these faults:\n{}"
_KEY: Final = "conversation"


NO_OUTPUT: Final[Any] = object()
"""The run gave no value of its own; null is one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: with a text or a question, and what is remembered of it."""

    text: str
    question: str | None
    memory: Json
    choices: Sequence[str] | None = None
    """What the question may be answered with, if it is a choice."""
    output: Any = NO_OUTPUT
    """What the caller's ``response_schema`` asks for, as JSON, unless a question was asked; without
    one the text is it."""
    schema: dict[str, Any] | None = None
    """What the answer to the question has to fit, if it is no choice."""


@dataclass(frozen=True, slots=True)
class RunInput:
    """What a run is given: ``prompt`` is what the user said, ``said`` what was said before when
    there is no ``memory`` of it.

    ``at`` is when it was said (ISO 8601, UTC), ``zone`` the user's time zone when it is known, and
    ``schema`` the caller's ``response_schema``. ``answer`` is what the message answers to a typed
    question; None when it is none. ``has_files``: there are files in the conversation.
    """

    prompt: str
    memory: Json
    said: Sequence[tuple[str, str]]
    at: str = ""
    zone: str | None = None
    schema: dict[str, Any] | None = None
    answer: Json = None
    has_files: bool = False


class Framework(Protocol):
    """A framework's agent."""

    kind: str
    at_once: bool
    """Whether a run may begin inside its turn: its tools and its model calls can be told apart."""
    charge: Charge | None

    async def run(self, asked: RunInput, recorder: Recorder) -> Outcome:
        """Run the agent once, each call through the recorder."""
        ...


async def take_turn(framework: Framework, turn: Turn) -> None:
    """Hand a message to the job that runs, or answer it, or start a job for it.

    A message that wants an output has a run of its own: one it joined would give it none.
    """
    for running in turn.running if turn.response_schema is None else ():
        if await turn.join(running.job_id):
            return
    number = int(_of(turn.state).get("turn", 0)) + 1
    memory = _newest([turn.state, *(work.state for work in turn.works)])
    prompt = await turn.step(_prompt, turn.message.text, list(turn.message.files))
    said = [] if memory is not None else [[s.role, s.text] for s in turn.history if s.text]
    kept = _of(turn.state)
    turn.state[_KEY] = {**kept, "turn": number}
    recorder = TurnRecorder(turn)
    zone = zone_of(turn.metadata)
    answer: Json = turn.answer.value if turn.answer is not None else None
    if framework.at_once and framework.charge is None:

        async def give(value: Json) -> None:
            turn.output(value)

        schema = turn.response_schema
        asked = RunInput(
            prompt, memory, _pairs(said), turn.message.at, zone, schema, answer, _has_files(turn)
        )
        try:
            outcome = await _run(framework, asked, recorder, give)
        except (NeedsJob, JobFailed):  # a job can say in its own words how it failed
            turn.delta("", reset=True)
        else:
            turn.state[_KEY] = {"turn": number, "of": number, "memory": outcome.memory}
            if outcome.text:
                turn.reply(outcome.text)
            _ask(turn, outcome)
            return
    started = await turn.start(
        work_through,
        _title(turn.message.text),
        work=turn.works[0].work_id if turn.works else None,
        kind=framework.kind,
        prompt=prompt,
        memory=memory,
        said=said,
        number=number,
        recorded=recorder.recorded,
        **({"zone": zone} if zone else {}),
        **({} if answer is None else {"answer": answer}),
    )
    if started.state == "refused":
        turn.reply(f"This cannot be started now: {started.reason}.")


async def work_through(
    job: Job,
    kind: str,
    prompt: str,
    memory: Json,
    said: list[list[str]],
    number: int,
    recorded: list[Json],
    zone: str | None = None,
    answer: Json = None,
) -> str:
    """The job of a run. Messages that join it are answered when the run before has ended."""
    framework: Framework = bound(kind)
    files = await job.files()
    recorder = JobRecorder(job, files, recorded, framework.charge)
    if memory is None:
        memory = _newest([job.state])
    texts: list[str] = []
    schema = job.response_schema
    asked = RunInput(
        prompt, memory, _pairs(said), job.message.at, zone, schema, answer, bool(files)
    )
    while True:
        outcome = await _run(framework, asked, recorder, job.output)
        texts.append(outcome.text)
        joined = [] if outcome.question else await job.inbox()
        if not joined:
            break
        text = "\n\n".join(s.text for s in joined)
        asked = _after(asked, text, outcome, at=joined[-1].at)
        if any(said.files for said in joined):
            asked = replace(asked, has_files=True)
    job.state[_KEY] = {"of": number, "memory": outcome.memory}
    _ask(job, outcome)
    return "\n\n".join(text for text in texts if text)


async def _run(
    framework: Framework,
    asked: RunInput,
    recorder: Recorder,
    give: Callable[[Json], Awaitable[None]],
) -> Outcome:
    """One run, and a second one when its output does not fit: that one is given what is wrong."""
    outcome = await framework.run(asked, recorder)
    await recorder.flush()
    if asked.schema is None or outcome.question:
        return outcome
    try:
        await give(_value(outcome))
    except OutputInvalid as invalid:
        again = _after(asked, _REPAIR.format(invalid), outcome, at=asked.at)
        outcome = await framework.run(again, recorder)
        await recorder.flush()
        if not outcome.question:
            await give(_value(outcome))
    return outcome


def _has_files(turn: Turn) -> bool:
    return bool(turn.message.files) or any(work.files for work in turn.works)


def _after(asked: RunInput, text: str, outcome: Outcome, *, at: str) -> RunInput:
    """The input of the run after that one."""
    return replace(asked, prompt=text, memory=outcome.memory, said=[], at=at, answer=None)


def _value(outcome: Outcome) -> Json:
    """The output of a run: unless it gave a value, its text, read as JSON where that is JSON."""
    read: Json = outcome.output
    if read is not NO_OUTPUT:
        return read
    try:
        read = json.loads(outcome.text)
    except ValueError:
        return outcome.text
    return read


def _ask(run: Turn | Job, outcome: Outcome) -> None:
    """Ask what the run asks. What it may be answered with may come from a model: where that cannot
    be asked for, any text is an answer."""
    if not outcome.question:
        return
    try:
        run.ask(outcome.question, choices=outcome.choices, schema=outcome.schema)
    except ValueError:
        run.ask(outcome.question)


def _pairs(said: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    return [(role, text) for role, text in said]


def zone_of(metadata: Mapping[str, str]) -> str | None:
    """The time zone that the caller's metadata names, if there is one of that name."""
    name = metadata.get(TIME_ZONE, "")
    try:
        return ZoneInfo(name).key if name else None
    except (KeyError, ValueError, OSError):  # of no zone, or no name of one at all
        return None


def _of(state: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = state.get(_KEY, {})
    return kept


def _newest(states: Sequence[dict[str, Any]]) -> Json:
    kept = [found for state in states if "of" in (found := _of(state))]
    newest: Json = max(kept, key=lambda found: found["of"])["memory"] if kept else None
    return newest


def _title(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= TITLE_CHARACTERS_MAX else f"{line[: TITLE_CHARACTERS_MAX - 1]}…"


async def _prompt(text: str, files: list[File]) -> str:
    """What a model is told: the message and, below, its files with their text."""
    parts = [text]
    for file in files:
        head = f"Attached file {file.name} ({file.content_type}, {file.size} bytes)"
        try:
            contents = await file.text()
        except Unreadable:
            parts.append(f"{head}; it has no text that can be read.")
            continue
        cut = "" if len(contents) <= FILE_CHARACTERS_MAX else "\n[the rest is left out]"
        parts.append(f"{head}:\n{contents[:FILE_CHARACTERS_MAX]}{cut}")
    return "\n\n".join(parts)
