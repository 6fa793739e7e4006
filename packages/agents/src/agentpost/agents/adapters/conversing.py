"""The turn and the job of every framework's agent: what is said, remembered, asked and joined.

The memory of a conversation is what the framework itself needs to go on. It is kept in the turn's
state when the run ended there, else in that of the work; the newer one counts.

A run may end with several questions. They are asked one after the other, a turn for each; the
answers are kept in the turn's state, and the run goes on when it has an answer to each.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Protocol, cast
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
from agentpost.domain.answers import checked_choices, find_choice
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
_YES: Final = frozenset({"yes", "y", "ok", "okay", "approve", "approved", "true", "go ahead"})
_REPAIR: Final = "That does not fit what is asked for. Give it again, without these faults:\n{}"
_KEY: Final = "conversation"


NO_OUTPUT: Final[Any] = object()
"""The run gave no value of its own; null is one."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a run; ``key`` is the framework's name of what waits for the answer."""

    key: str
    text: str
    choices: Sequence[str] | None = None
    """What it may be answered with, if it is a choice."""
    schema: dict[str, Any] | None = None
    """What the answer has to fit, if it is no choice."""


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """What the user answered to one question: the message, and the choice or the JSON that is asked
    for; where it takes any text, that is the value."""

    text: str
    value: Json


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: with a text or with questions, and what is remembered of it."""

    text: str
    memory: Json
    questions: Sequence[Question] = ()
    output: Any = NO_OUTPUT
    """What the caller's ``response_schema`` asks for, as JSON, unless a question was asked; without
    one the text is it."""


@dataclass(frozen=True, slots=True)
class RunInput:
    """What a run is given: ``prompt`` is what the user said, ``history`` what was said before when
    there is no ``memory`` of it.

    ``at`` is when it was said (ISO 8601, UTC), ``zone`` the user's time zone when it is known, and
    ``schema`` the caller's ``response_schema``. ``answers`` has the answer to each question with
    which the run before ended, by its key. ``has_files``: there are files in the conversation.
    """

    prompt: str
    memory: Json
    history: Sequence[Sequence[str]]
    at: str = ""
    zone: str | None = None
    schema: dict[str, Any] | None = None
    answers: Mapping[str, UserAnswer] = field(default_factory=dict)
    has_files: bool = False

    def answer_to(self, key: str) -> UserAnswer:
        """The answer to a question; the message where a run that failed has used the answers."""
        return self.answers.get(key) or UserAnswer(self.prompt, self.prompt)

    def approves(self, key: str) -> bool:
        """Whether the user allowed the call that this question names."""
        value = self.answers[key].value if key in self.answers else None
        return isinstance(value, str) and value.strip().strip(".!").lower() in _YES


class Framework(Protocol):
    """A framework's agent."""

    kind: str
    at_once: bool
    """Whether a run may begin inside its turn: its tools and its model calls can be told apart."""
    charge: Charge | None

    async def run(self, run_input: RunInput, recorder: Recorder) -> Outcome:
        """Run the agent once, each call through the recorder."""


async def take_turn(framework: Framework, turn: Turn) -> None:
    """Hand a message to the job that runs, or answer it, or start a job for it. One that wants an
    output has a run of its own: one it joined would give it none."""
    for running in turn.running if turn.response_schema is None else ():
        if await turn.join(running.job_id):
            return
    memory_state = _of(turn.state)
    number = int(memory_state.get("turn", 0)) + 1
    newest = _newest([turn.state, *(work.state for work in turn.works)])
    asks = any(work.question for work in turn.works[:1])
    is_hidden = asks and newest.get("of", 0) < memory_state.get("started", 0)
    newest = {} if is_hidden else newest  # the job reads the newer one
    prompt = await turn.step(_prompt, turn.message.text, list(turn.message.files))
    history = [] if newest else [[s.role, s.text] for s in turn.history if s.text]
    before = memory_state.get("answers", {"of": None, "given": []})
    answer: Json = turn.answer.value if turn.answer is not None else None
    earlier = before["given"] if before["of"] == newest.get("of") else []
    answers = _answers(turn, newest, earlier, prompt, answer)
    replies = {"of": newest.get("of"), "given": answers}
    state: dict[str, Json] = {**memory_state, "turn": number, "answers": replies}
    turn.state[_KEY] = state
    if _ask(turn, newest, answers):
        return
    recorder = TurnRecorder(turn)
    zone, at, schema = zone_of(turn.metadata), turn.message.at, turn.response_schema
    has_files = bool(turn.message.files) or any(work.files for work in turn.works)
    memory, by_key = newest.get("memory"), _by_key(answers)
    run_input = RunInput(prompt, memory, history, at, zone, schema, by_key, has_files)
    may_run_here = framework.at_once and framework.charge is None and not is_hidden
    if may_run_here and await _run_here(framework, turn, run_input, recorder, number):
        return
    turn.state[_KEY] = {**state, "started": number}
    unread = {} if newest else {"answer": answer, "before": memory_state.get("started")}
    further = {"number": number, **({"answers": answers} if answers else {}), **unread}
    await _start(framework, turn, run_input, recorder, further)


async def _start(
    framework: Framework,
    turn: Turn,
    run_input: RunInput,
    recorder: TurnRecorder,
    further: dict[str, Any],
) -> None:
    """Start the job of that run; ``further`` are the rest of its arguments."""
    started = await turn.start(
        work_through,
        _title(turn.message.text),
        work=turn.works[0].work_id if turn.works else None,
        kind=framework.kind,
        prompt=run_input.prompt,
        memory=run_input.memory,
        history=run_input.history,
        carried_results=recorder.recorded,
        **({"zone": run_input.zone} if run_input.zone else {}),
        **further,
    )
    if started.state == "refused":
        turn.reply(f"This cannot be started now: {started.reason}.")


async def _run_here(
    framework: Framework, turn: Turn, run_input: RunInput, recorder: Recorder, number: int
) -> bool:
    """Run the agent inside the turn; False when it needs a job."""

    async def give(value: Json) -> None:
        turn.output(value)

    try:
        outcome = await _run(framework, run_input, recorder, give)
    except (NeedsJob, JobFailed):  # a job can say in its own words how it failed
        turn.delta("", reset=True)
        return False
    record = _record(number, outcome)
    turn.state[_KEY] = {"turn": number, **record}
    if outcome.text:
        turn.reply(outcome.text)
    _ask(turn, record)
    return True


def _answers(
    run: Turn | Job,
    record: Mapping[str, Any],
    earlier: list[Json],
    prompt: str,
    answer: Json,
) -> list[Json]:
    """The answers to the questions with which a run ended: those given before, and the message as
    the answer to the next question; each as key, text and value.

    When all were given before, they have been used by a run that left nothing, because it failed
    or was stopped: none is given then, since nobody approved that a call is made once more. A
    message that chose before it was asked answers nothing, such as a second "yes" that waited while
    the first was worked on: the server takes each choice that is made later for a typed answer.
    """
    questions = _questions(record)
    if len(earlier) == len(questions):
        return []
    next_one = questions[len(earlier)]
    if answer is None and find_choice(next_one.choices or (), run.message.text):
        return earlier
    return [*earlier, [next_one.key, prompt, prompt if answer is None else answer]]


def _questions(record: Mapping[str, Any]) -> list[Question]:
    return [Question(**each) for each in record.get("questions", ())]


def _by_key(answers: Sequence[Json]) -> dict[str, UserAnswer]:
    return {key: UserAnswer(text, value) for key, text, value in cast("Sequence[Any]", answers)}


async def work_through(
    job: Job,
    kind: str,
    prompt: str,
    memory: Json,
    history: list[list[str]],
    number: int,
    carried_results: list[Json],
    zone: str | None = None,
    answers: Sequence[Json] = (),
    answer: Json = None,
    before: int | None = None,
) -> str:
    """The job of a run. Messages that join it are answered when the run before has ended.

    Args:
        answers: to the questions with which the run before ended.
        answer, before: without ``memory``: the typed answer of the message, and the number of the
            turn that started the last job. A record that is too long for a turn is read here.
    """
    framework: Framework = bound(kind)
    files = await job.files()
    recorder = JobRecorder(job, files, carried_results, framework.charge)
    record = _newest([job.state]) if memory is None else {}
    if record:
        memory = record["memory"]
        was_used = record.get("seen", record["of"]) != before
        earlier = record.get("given", [])
        answers = [] if was_used else _answers(job, record, earlier, prompt, answer)
        job.state[_KEY] = {**record, "given": answers, "seen": number}
        if _ask(job, record, answers):
            return ""
    at, schema, by_key = job.message.at, job.response_schema, _by_key(answers)
    run_input = RunInput(prompt, memory, history, at, zone, schema, by_key, bool(files))
    texts, outcome = await _run_all(framework, job, run_input, recorder)
    record = _record(number, outcome)
    job.state[_KEY] = record
    _ask(job, record)
    return "\n\n".join(text for text in texts if text)


async def _run_all(
    framework: Framework, job: Job, run_input: RunInput, recorder: JobRecorder
) -> tuple[list[str], Outcome]:
    """A run, and one more for what has joined the job meanwhile: their texts, and the last end."""
    texts: list[str] = []
    while True:
        outcome = await _run(framework, run_input, recorder, job.output)
        texts.append(outcome.text)
        additions = [] if outcome.questions else await job.inbox()
        if not additions:
            return texts, outcome
        text = "\n\n".join(s.text for s in additions)
        run_input = _after(run_input, text, outcome, at=additions[-1].at)
        if any(addition.files for addition in additions):
            run_input = replace(run_input, has_files=True)


def _record(number: int, outcome: Outcome) -> dict[str, Any]:
    """What is remembered of the run of a turn with that number."""
    questions = [asdict(each) for each in outcome.questions]
    return {"of": number, "memory": outcome.memory, "questions": questions}


async def _run(
    framework: Framework,
    run_input: RunInput,
    recorder: Recorder,
    give: Callable[[Json], Awaitable[None]],
) -> Outcome:
    """One run, and a second one when its output does not fit: that one is given what is wrong."""
    outcome = await framework.run(run_input, recorder)
    await recorder.flush()
    if run_input.schema is None or outcome.questions:
        return outcome
    try:
        await give(_value(outcome))
    except OutputInvalid as invalid:
        again = _after(run_input, _REPAIR.format(invalid), outcome, at=run_input.at)
        outcome = await framework.run(again, recorder)
        await recorder.flush()
        if not outcome.questions:
            await give(_value(outcome))
    return outcome


def _after(run_input: RunInput, text: str, outcome: Outcome, *, at: str) -> RunInput:
    """The input of the run after that one."""
    return replace(run_input, prompt=text, memory=outcome.memory, history=[], at=at, answers={})


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


def _ask(run: Turn | Job, record: Mapping[str, Any], answers: Sequence[Json] = ()) -> bool:
    """Ask the first question of a record that has no answer; False when each has one. A schema may
    come from a model: where it cannot be asked for, any text is an answer."""
    left = _questions(record)[len(answers) :]
    if left:
        try:
            run.ask(left[0].text, choices=left[0].choices, schema=left[0].schema)
        except ValueError:
            run.ask(left[0].text)
    return bool(left)


def question(key: str, text: str, choices: object = None, schema: object = None) -> Question:
    """A question, without choices or a schema that cannot be asked for; a choice may be a number,
    which is asked for as a text. A blank question would ask nothing."""
    text = text if text.strip() else "Please go on."
    if choices is not None:
        try:
            texts = [str(each) for each in choices] if isinstance(choices, list) else choices
            return Question(key, text, checked_choices(texts))
        except ValueError:
            return Question(key, text)
    return Question(key, text, None, schema if isinstance(schema, dict) else None)


def approval(key: str, tool: str, args: Mapping[str, Any], words: object = None) -> Question:
    """The question whether a tool may be called with these arguments, which it names; ``words`` are
    those of the tool's author."""
    call = written_call(tool, args)
    return Question(key, f"{words}\n\n{call}" if words else f"May I call {call}?", APPROVAL)


def written_call(tool: str, args: Mapping[str, Any]) -> str:
    """A call of a tool as a user reads it."""
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in args.items())})"


def trim(items: list[Any], starts: Sequence[int]) -> list[Any]:
    """The memory of a conversation, without the oldest questions and their answers when it is too
    long. ``starts``: where the user said something."""
    while (
        len(starts) > 1 and len(json.dumps(items, ensure_ascii=False).encode()) > MEMORY_BYTES_MAX
    ):
        cut = starts[1]
        items, starts = items[cut:], [n - cut for n in starts[1:]]
    return items


def zone_of(metadata: Mapping[str, str]) -> str | None:
    """The time zone that the caller's metadata names, if there is one of that name."""
    name = metadata.get(TIME_ZONE, "")
    try:
        return ZoneInfo(name).key if name else None
    except (KeyError, ValueError, OSError):  # of no zone, or no name of one at all
        return None


def _of(state: dict[str, Any]) -> dict[str, Any]:
    memory: dict[str, Any] = state.get(_KEY, {})
    return memory


def _newest(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The record of the newest run that has left one; empty when there is none."""
    records = [record for state in states if "of" in (record := _of(state))]
    return max(records, key=lambda record: record["of"], default={})


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
