"""An agent behind the Agent2Agent protocol: `a2a:<card url>` (JSON-RPC, version 1.0).

A message is sent once; when it makes a task, a job follows that task until it has ended or asks.
The other side keeps the task and the context, so a crash of ours costs it nothing.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any, Final, cast

import structlog

from agentpost.agents.adapters import conversing
from agentpost.agents.adapters.bound import bind
from agentpost.agents.adapters.conversing import Outcome, Question, RunInput
from agentpost.agents.adapters.current import current
from agentpost.agents.adapters.recording import Charge, Recorder, Usage
from agentpost.agents.adapters.surroundings import Surroundings
from agentpost.agents.base import JobFailed, Json, Turn, step_key
from agentpost.domain import backoff
from agentpost.domain.file_names import safe_file_path

KIND: Final = "a2a"
CARD_PATH: Final = "/.well-known/agent-card.json"
BYTES_MAX: Final = 16 * 1024 * 1024
"""The longest answer that is read, in bytes."""
CALL_SECONDS: Final = 60.0
"""How long a call that is no stream may take, in seconds."""
POLL_SECONDS: Final = 1.0
"""Between two looks at a task that cannot be streamed."""
PAUSE_SECONDS_MAX: Final = 60.0
"""The longest pause between two looks at a task that fail; the first is `POLL_SECONDS`."""
QUIET_SECONDS_MAX: Final = 10.0
"""The longest pause between two subscriptions to a task that bring nothing."""
SILENCE_SECONDS: Final = 15.0
"""How long, in seconds, a stream may bring nothing before its task is looked at: a server that
was restarted may hold a stream open to which nothing writes any more."""
AWAY_SECONDS: Final = 86_400.0
"""For how long the other agent may be away while a job follows its task, in seconds."""
STOPPED: Final = ("stopped",)
"""The arguments of the `CancelledError` of a run that was stopped, and not only put off."""
_TASK_NOT_FOUND: Final = -32001
_INPUT: Final = "TASK_STATE_INPUT_REQUIRED"
_COMPLETED: Final = "TASK_STATE_COMPLETED"
_WORKING: Final = frozenset({"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"})
_Object = dict[str, Any]
log = structlog.get_logger(__name__)


class CallFailed(Exception):
    """The other agent did not answer as it should."""


class TaskGone(CallFailed):
    """The other agent does not know the task."""


class A2A:
    """The agent of the setting `a2a:<card url>`; see `conversing.Framework`."""

    kind = KIND
    at_once = True
    charge: Charge | None = None
    _surroundings: Surroundings

    def __init__(self, card_url: str) -> None:
        self._card_url = card_url
        self._known: tuple[str, bool] | None = None
        self._cancelling: set[asyncio.Task[None]] = set()

    def attach(self, surroundings: Surroundings) -> None:
        """Give it what the server has for it."""
        self._surroundings = surroundings

    async def take_turn(self, turn: Turn) -> None:
        """The agent function."""
        await conversing.take_turn(self, turn)

    async def run(self, run_input: RunInput, recorder: Recorder) -> Outcome:
        earlier = cast("dict[str, Any]", run_input.memory or {})
        message: _Object = {"role": "ROLE_USER", "parts": [{"text": run_input.prompt}]}
        for ours, theirs in (("context", "contextId"), ("task", "taskId")):
            if earlier.get(ours):
                message[theirs] = earlier[ours]
        receipt = cast("_Object", await recorder.model("send", partial(self._send, message)))
        context = receipt["context"]
        if "text" in receipt:
            return Outcome(receipt["text"], {"context": context})
        task = receipt["task"]
        outcome = cast("_Object", await recorder.tool("follow", task, partial(self._follow, task)))
        if outcome["question"] is not None:
            memory: Json = {"context": context, "task": task}
            return Outcome(outcome["text"], memory, [Question(task, outcome["question"])])
        return Outcome(outcome["text"], {"context": context})

    # --- steps ------------------------------------------------------------------------------------
    async def _send(self, message: _Object) -> tuple[Json, Usage]:
        """Send a message; when this is repeated after a crash, its id is the same."""
        key = hashlib.sha256(step_key().encode()).hexdigest()[:32]
        params: _Object = {"message": {**message, "messageId": key}}
        _, streams = await self._interface()
        if not streams:
            params["configuration"] = {"returnImmediately": True}
            return _receipt_of(await self._call("SendMessage", params)), {}
        async with contextlib.aclosing(self._stream("SendStreamingMessage", params)) as events:
            async for event in events:
                return _receipt_of(event), {}
        raise CallFailed("the agent answered a message with nothing")

    async def _follow(self, task: str) -> Json:
        """Wait for the end of a task; its text is shown, its files are written."""
        progress, quiet = _TaskProgress(), 0
        try:
            while True:
                snapshot = await self._looked_at(task)
                await progress.task(snapshot)
                if snapshot["status"]["state"] not in _WORKING:
                    return _end_of(snapshot)
                _, streams = await self._interface()
                if quiet or not streams:
                    pause = backoff.pause(max(quiet - 1, 0), POLL_SECONDS, QUIET_SECONDS_MAX)
                    await asyncio.sleep(pause)
                if streams:
                    quiet = 1 if await self._watch(task, progress) else quiet + 1
        except asyncio.CancelledError as error:
            if error.args == STOPPED:
                cancelling = asyncio.create_task(self._cancel(task))
                self._cancelling.add(cancelling)
                cancelling.add_done_callback(self._cancelling.discard)
            raise

    async def _watch(self, task: str, progress: _TaskProgress) -> bool:
        """Show what the stream of a task brings until it ends, breaks or is silent for too long;
        whether it brought more than the task as it is, which comes first."""
        events = 0
        with contextlib.suppress(Exception):  # it has just ended, or the next look says more
            stream = self._stream("SubscribeToTask", {"id": task})
            async with contextlib.aclosing(stream):
                while True:
                    async with asyncio.timeout(SILENCE_SECONDS):
                        event = await anext(stream, None)
                    if event is None:
                        break
                    await progress.event(event)
                    events += 1
        return events > 1

    async def _looked_at(self, task: str) -> _Object:
        """The task, as soon as the other agent answers: a restart of its server does not end it."""
        began, failed = time.monotonic(), 0
        while True:
            try:
                return await self._call("GetTask", {"id": task})
            except TaskGone as error:
                raise JobFailed(
                    f"The agent no longer knows its task {task}, so its result is lost."
                ) from error
            except Exception as error:
                if time.monotonic() - began > AWAY_SECONDS:
                    raise
                log.warning("agent_away", task=task, failed=failed + 1, error=repr(error))
            await asyncio.sleep(backoff.pause(failed, POLL_SECONDS, PAUSE_SECONDS_MAX))
            failed += 1

    async def _cancel(self, task: str) -> None:
        with contextlib.suppress(Exception):  # it has ended, or cannot be cancelled
            await self._call("CancelTask", {"id": task})

    # --- calls ------------------------------------------------------------------------------------
    async def _call(self, method: str, params: _Object) -> _Object:
        async with asyncio.timeout(CALL_SECONDS):
            address, _ = await self._interface()
            body = b"".join([line async for line in self._lines(address, method, params)])
        return _result(json.loads(body))

    async def _stream(self, method: str, params: _Object) -> AsyncGenerator[_Object, None]:
        address, _ = await self._interface()
        async with contextlib.aclosing(self._lines(address, method, params)) as lines:
            async for line in lines:
                if line.startswith(b"data:"):
                    yield _result(json.loads(line[5:]))
                elif line.startswith(b"{"):  # an error comes as plain JSON
                    yield _result(json.loads(line))

    async def _interface(self) -> tuple[str, bool]:
        """Where the card says that JSON-RPC is spoken, and whether streams are; it is read once."""
        if self._known is None:
            url = self._card_url
            url = url if url.endswith(".json") else url.rstrip("/") + CARD_PATH
            async with asyncio.timeout(CALL_SECONDS):
                card = json.loads(b"".join([line async for line in self._lines(url, None, {})]))
            streams = bool(card.get("capabilities", {}).get("streaming"))
            for interface in card.get("supportedInterfaces", ()):
                version = str(interface.get("protocolVersion", "1.0"))
                if interface.get("protocolBinding") == "JSONRPC" and version.startswith("1."):
                    self._known = str(interface["url"]), streams
                    return self._known
            raise CallFailed(f"the card at {url} has no JSON-RPC interface of version 1")
        return self._known

    async def _lines(
        self, url: str, method: str | None, params: _Object
    ) -> AsyncGenerator[bytes, None]:
        headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
        if self._surroundings.secret:
            headers["Authorization"] = f"Bearer {self._surroundings.secret}"
        body = None
        if method is not None:
            rpc_call = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
            body = json.dumps(rpc_call).encode()
        verb = "GET" if body is None else "POST"
        async with self._surroundings.way_out.stream(verb, url, headers, body) as answer:
            if answer.status != 200:
                raise CallFailed(f"the agent at {url} answered with HTTP {answer.status}")
            async for line in answer.lines(BYTES_MAX):
                yield line.rstrip(b"\r")


def agent_of(rest: str) -> A2A:
    """The agent for what stands behind `a2a:`, a URL; raises `ValueError` when it is none."""
    if not rest.startswith(("http://", "https://")):
        raise ValueError(f"{rest!r} is not the URL of an agent card")
    return bind(KIND, A2A(rest))


# --- reading answers ------------------------------------------------------------------------------
def _result(answer: _Object) -> _Object:
    if "error" in answer:
        kind = TaskGone if answer["error"].get("code") == _TASK_NOT_FOUND else CallFailed
        raise kind(f"the agent refused: {answer['error'].get('message')}")
    result: _Object = answer["result"]
    return result


def _receipt_of(answer: _Object) -> Json:
    """The message that is the answer, or the task that was made."""
    if "message" in answer:
        message = answer["message"]
        return {"text": _text(message), "context": message.get("contextId")}
    if "task" in answer:
        return {"task": answer["task"]["id"], "context": answer["task"].get("contextId")}
    update = answer.get("statusUpdate") or answer["artifactUpdate"]
    return {"task": update["taskId"], "context": update.get("contextId")}


class _TaskProgress:
    """What was shown of a task: it may be seen whole first, or piece by piece."""

    def __init__(self) -> None:
        self._text = ""
        self._messages: set[str] = set()

    async def event(self, event: _Object) -> None:
        """Show what an event of its stream brings."""
        if "task" in event:
            await self.task(event["task"])
        elif "statusUpdate" in event:
            await self._status(event["statusUpdate"]["status"])
        elif "artifactUpdate" in event:
            text = _text(event["artifactUpdate"]["artifact"])
            self._text += text
            current().delta(text)

    async def task(self, task: _Object) -> None:
        """Show what was not seen of it yet."""
        for message in _since_asked(task):
            await self._show_message(message)
        await self._status(task["status"])
        text = "".join(_text(artifact) for artifact in task.get("artifacts", ()))
        if text.startswith(self._text):
            current().delta(text[len(self._text) :])
            self._text = text

    async def _status(self, status: _Object) -> None:
        if status["state"] in _WORKING and "message" in status:
            await self._show_message(status["message"])

    async def _show_message(self, message: _Object) -> None:
        key, text = str(message.get("messageId")), _text(message)
        if text and key not in self._messages:
            self._messages.add(key)
            await current().progress(text)


def _since_asked(task: _Object) -> list[_Object]:
    """What the agent said since the user's last message."""
    since: list[_Object] = []
    for message in task.get("history", ()):
        since = [] if message.get("role") == "ROLE_USER" else [*since, message]
    return since


def _end_of(task: _Object) -> Json:
    """How a task ended; its files are written. Raises `JobFailed` when it failed."""
    state, status_text = task["status"]["state"], _text(task["status"].get("message", {}))
    if state == _INPUT:
        return {"text": "", "question": status_text or "Please go on."}
    if state != _COMPLETED:
        raise JobFailed(status_text or f"The agent ended its task as {state}.")
    texts = []
    for artifact in task.get("artifacts", ()):
        texts.append(_text(artifact))
        for part in artifact.get("parts", ()):
            name = part.get("filename") or artifact.get("name") or "file"
            if "raw" in part:
                current().write(safe_file_path(name), base64.b64decode(part["raw"]))
            elif "url" in part:
                texts.append(f"{name}: {part['url']}")
    return {"text": "\n\n".join(text for text in texts if text) or status_text, "question": None}


def _text(holder: _Object) -> str:
    """The text of a message or artifact; an artifact that was written piece by piece has a part for
    each piece."""
    between = "" if "artifactId" in holder else "\n"
    return between.join(part["text"] for part in holder.get("parts", ()) if part.get("text"))
