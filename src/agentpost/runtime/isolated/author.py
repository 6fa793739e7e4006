"""The turn and the job that an author's code sees in an agent process."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from agentpost.agents import Answer, File, JobFn, Running, Said, Started, WorkRef, values
from agentpost.agents.retries import DEFAULT_BACKOFF, Backoff, RetryOn
from agentpost.domain.credits import to_millionths
from agentpost.domain.filenames import check_path
from agentpost.domain.text import agent_text
from agentpost.runtime import typed
from agentpost.runtime.bodies import check_body, name_of, step_name
from agentpost.runtime.isolated.calls import BodyRun, Calls, Stopped, contents
from agentpost.runtime.isolated.frames import Frame
from agentpost.runtime.retrying import Retry


class _Run:
    """What both have: a question, pieces of text, steps and outputs."""

    def __init__(self, calls: Calls, given: Frame) -> None:
        self._calls = calls
        self._given = given
        self._question: Frame | None = None
        self._output = typed.Output(given["schema"])
        self.message = Said(**_with_files(values.load(given["message"], calls)))

    @property
    def response_schema(self) -> dict[str, Any] | None:
        """See `Turn.response_schema`."""
        return self._output.schema

    def ask(
        self,
        question: str,
        *,
        choices: Sequence[str] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> None:
        """See `Turn.ask`."""
        self._calls.refuse_in_body("ask")
        typed.answer_format(choices, schema)
        chosen = None if choices is None else list(choices)
        self._question = {"text": agent_text(question), "choices": chosen, "schema": schema}

    def delta(self, text: str, *, reset: bool = False) -> None:
        """See `Turn.delta`."""
        if not isinstance(text, str):
            raise TypeError(f"a delta must be a str, not {type(text).__name__}")
        self._calls.say(delta=text, reset=reset)

    def _stepped(self, fn: Callable[..., Any], args: Any, kwargs: Any, **options: Any) -> Any:
        check_body(fn)
        given = {"args": values.dump(list(args)), "kwargs": values.dump(kwargs), **options}
        if not inspect.iscoroutinefunction(fn):
            return self._calls.numbered("step", {"fn": values.function_ref(fn), **given})

        async def body() -> Frame:
            return {"value": values.dump(await fn(*args, **kwargs))}

        return self._calls.numbered("step", {"body": name_of(fn), **given}, body)


class RemoteTurn(_Run):
    """See `agentpost.agents.Turn`."""

    def __init__(self, calls: Calls, given: Frame) -> None:
        super().__init__(calls, given)
        self._replies: list[str] = []
        self._state_before = ""
        self.metadata: dict[str, str] = json.loads(given["metadata"] or "{}")
        self.conversation: str = given["conversation"]
        self.account: str = given["account"]
        self.answer = Answer(**json.loads(given["answer"])) if given["answer"] else None
        self.notes: Sequence[str] = tuple(values.load(given["notes"], None))

    # --- inputs -----------------------------------------------------------------------------------
    @cached_property
    def history(self) -> Sequence[Said]:
        """See `Turn.history`."""
        return tuple(Said(**_with_files(said)) for said in self._calls.now("history"))

    @cached_property
    def _inputs(self) -> dict[str, Any]:
        inputs: dict[str, Any] = values.load(self._given["inputs"], self._calls)
        self._state_before = values.dump(inputs["state"])
        return inputs

    @cached_property
    def running(self) -> Sequence[Running]:
        """See `Turn.running`."""
        return tuple(Running(**item) for item in self._inputs["running"])

    @cached_property
    def works(self) -> Sequence[WorkRef]:
        """See `Turn.works`."""
        return tuple(WorkRef(**_with_files(item)) for item in self._inputs["works"])

    @property
    def credits(self) -> float:
        """See `Turn.credits`."""
        available: float = self._inputs["credits"]
        return available

    @property
    def state(self) -> dict[str, Any]:
        """See `Turn.state`."""
        state: dict[str, Any] = self._inputs["state"]
        return state

    # --- saying -----------------------------------------------------------------------------------
    def reply(self, text: str) -> None:
        """See `Turn.reply`."""
        self._calls.refuse_in_body("reply")
        self._replies.append(agent_text(text))

    def output(self, value: Any) -> None:
        """See `Turn.output`."""
        self._calls.refuse_in_body("output")
        text = typed.as_json(value)
        error = self._output.check(text)
        self._calls.say(output=text)  # the server counts those that do not fit as well
        if error is not None and self._output.is_hopeless:
            raise Stopped
        if error is not None:
            raise error

    def end(self) -> Frame:
        """What the function leaves when it has returned."""
        state = None
        if "_inputs" in self.__dict__:
            after = values.dump(self.state)
            state = after if after != self._state_before else None
        return {"replies": self._replies, "question": self._question, "state": state}

    # --- recorded calls ---------------------------------------------------------------------------
    def start(
        self, job: JobFn, /, title: str, *, work: str | None = None, **args: Any
    ) -> Awaitable[Started]:
        """See `Turn.start`."""
        ref = values.function_ref(job)
        if not inspect.iscoroutinefunction(job):
            raise TypeError(f"a job is a coroutine function, {ref} is not")
        fields = {
            "job": ref,
            "title": agent_text(title),
            "work": agent_text(work) if work is not None else None,
            "args": values.dump(args),
        }
        return self._started(self._calls.numbered("start", fields))

    async def _started(self, answer: Awaitable[dict[str, Any]]) -> Started:
        return Started(**await answer)

    def join(self, job_id: str, text: str | None = None) -> Awaitable[bool]:
        """See `Turn.join`."""
        text = agent_text(text) if text is not None else None
        joining: Awaitable[bool] = self._calls.numbered(
            "join", {"job_id": agent_text(job_id), "text": text}
        )
        return joining

    def stop(self, job_id: str) -> Awaitable[bool]:
        """See `Turn.stop`."""
        stopping: Awaitable[bool] = self._calls.numbered("stop", {"job_id": agent_text(job_id)})
        return stopping

    def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """See `Turn.step`."""
        stepping: Awaitable[Any] = self._stepped(fn, args, kwargs)
        return stepping

    def write(self, path: str, data: bytes | str | Path) -> Awaitable[File]:
        """See `Turn.write`."""
        check_path(path)
        writing: Awaitable[File] = self._calls.numbered(
            "write", {"path": path, "data": contents(data)}
        )
        return writing


class RemoteJob(_Run):
    """See `agentpost.agents.Job`."""

    def __init__(self, calls: Calls, given: Frame) -> None:
        super().__init__(calls, given)
        self.id: str = given["id"]
        self.work_id: str = given["work_id"]
        self.title: str = given["title"]
        self.state: dict[str, Any] = values.load(given["state"], calls)

    def end(self, text: str | None) -> Frame:
        """What the function leaves when it has returned."""
        said = agent_text(text) if text is not None else None
        return {"text": said, "question": self._question, "state": values.dump(self.state)}

    def step(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        cost: float = 0,
        retries: int = 0,
        timeout: float | None = None,
        retry_on: RetryOn | None = None,
        backoff: Backoff = DEFAULT_BACKOFF,
        name: str | None = None,
        **kwargs: Any,
    ) -> Awaitable[Any]:
        """See `Job.step`."""
        step_name(fn, name)
        to_millionths(cost)
        retry = Retry.of(retries, retry_on, backoff)
        kinds = None if retry.on is None else [_named(kind) for kind in retry.on]
        pauses = [backoff.first, backoff.factor, backoff.maximum]
        options = {"cost": cost, "retries": retries, "timeout": timeout, "name": name}
        stepping: Awaitable[Any] = self._stepped(
            fn, args, kwargs, retry_on=kinds, backoff=pauses, **options
        )
        return stepping

    def write(
        self,
        path: str,
        data: bytes | str | Path | Callable[..., bytes | str | Path],
        /,
        *args: Any,
        cost: float = 0,
        label: str | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> Awaitable[File]:
        """See `Job.write`."""
        check_path(path)
        to_millionths(cost)
        given: Frame = {
            "path": path,
            "args": values.dump(list(args)),
            "kwargs": values.dump(kwargs),
            "cost": cost,
            "label": agent_text(label) if label is not None else None,
            "timeout": timeout,
        }
        body: BodyRun | None = None
        if not callable(data):
            given["data"] = contents(data)
        elif inspect.iscoroutinefunction(data):
            making = data

            async def make() -> Frame:
                return contents(await making(*args, **kwargs))

            body, given["body"] = make, name_of(data)
        else:
            given["fn"] = values.function_ref(data)
        writing: Awaitable[File] = self._calls.numbered("write", given, body)
        return writing

    def files(self) -> Awaitable[list[File]]:
        """See `Job.files`."""
        found: Awaitable[list[File]] = self._calls.numbered("files")
        return found

    def progress(self, step: str) -> Awaitable[None]:
        """See `Job.progress`."""
        step = agent_text(step)
        inside = self._calls.body("progress")
        return self._calls.call("progress", {"text": step}, inside=inside)

    def inbox(self, wait: float = 0) -> Awaitable[list[Said]]:
        """See `Job.inbox`."""
        return self._inbox(self._calls.numbered("inbox", {"wait": wait}))

    async def _inbox(self, answer: Awaitable[list[list[Any]]]) -> list[Said]:
        return [Said("user", text, (), at, message_id) for message_id, text, at in await answer]

    def charge(self, amount: float, note: str = "") -> Awaitable[None]:
        """See `Job.charge`."""
        price, note = to_millionths(amount), agent_text(note)
        body = self._calls.body("charge")
        if body is not None:
            body.charge(price, note)  # raises when the step has ended
        return self._calls.call("charge", {"amount": amount, "note": note}, inside=body)

    def output(self, value: Any) -> Coroutine[Any, Any, None]:
        """See `Job.output`."""
        recording: Coroutine[Any, Any, None] = self._calls.numbered(
            "output", {"value": typed.as_json(value)}
        )
        return recording


def _with_files(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "files": tuple(item["files"])}


def _named(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
