"""The task that stands for a chain of messages, its state, and which error a refusal is."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from a2a.types import a2a_pb2
from a2a.utils import errors
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from agentpost.contract.errors import in_words
from agentpost.contract.shape import Links
from agentpost.domain.errors import ErrorCode, RateLimited, Refusal
from agentpost.domain.limits import RPC_PAGE_BYTES_MAX
from agentpost.doors.outputs import Output, changed_at, explanation_of, outputs
from agentpost.doors.rpc import OURS
from agentpost.jobs.rules import Reason
from agentpost.messages.chains import Chain
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.messages.shapes import FileShape, MessageShape, labels
from agentpost.record.records import EntryRecord, MessageRecord


def task(chain: Chain, links: Links, history: int | None = None) -> a2a_pb2.Task:
    """The task with its outputs as artifacts; ``history``: how many of the newest messages it
    tells, None for all of them that a page may have. Its metadata has what the protocol has no
    field for."""
    result = a2a_pb2.Task(
        id=chain.id,
        context_id=chain.conversation,
        status=status(chain),
        artifacts=[artifact(each) for each in all_outputs(chain, links)],
        metadata=_metadata(chain, links),
    )
    messages: list[a2a_pb2.Message] = []
    size = 0
    for message in _newest_messages(chain):
        size += message.ByteSize()
        if len(messages) == history or (messages and size > RPC_PAGE_BYTES_MAX):
            break
        messages.append(message)
    result.history.extend(reversed(messages))
    return result


def state(chain: Chain) -> a2a_pb2.TaskState:
    """Its last message says how it stands."""
    return state_of(chain.last.message, chain.cancelled)


def all_outputs(chain: Chain, links: Links) -> list[Output]:
    """What every message of the chain has brought; questions are reported by the state."""
    questions = {snapshot.message.question for snapshot in chain.snapshots}
    return [
        each
        for snapshot in chain.snapshots
        for each in outputs(snapshot, links)
        if each.files or each.text not in questions
    ]


def artifact(output: Output) -> a2a_pb2.Artifact:
    """An output: its text, then its files by their links, which need no key and expire. One that
    has neither, the end of a text that was sent before, has an empty text."""
    is_text = bool(output.text) or not output.files
    parts = [a2a_pb2.Part(text=output.text, media_type="text/plain")] if is_text else []
    parts += [
        a2a_pb2.Part(url=file.url, filename=file.name, media_type=file.content_type)
        for file in output.files
    ]
    return a2a_pb2.Artifact(artifact_id=output.id, name=output.title or "reply", parts=parts)


def status(chain: Chain) -> a2a_pb2.TaskStatus:
    """The state, with the question, or what happened and what to do."""
    message = chain.last.message
    reason = Reason.STOPPED if chain.cancelled else message.reason
    explanation = explanation_of(chain.last, reason) if reason is not None else ""
    text = message.question if message.final and message.question else explanation
    result = a2a_pb2.TaskStatus(state=state(chain), timestamp=_time(changed_at(chain.last)))
    if text:
        result.message.CopyFrom(_message(chain, f"{message.id}_status", text))
    return result


def status_update(chain: Chain) -> a2a_pb2.TaskStatusUpdateEvent:
    """The event that tells the state."""
    return a2a_pb2.TaskStatusUpdateEvent(
        task_id=chain.id, context_id=chain.conversation, status=status(chain)
    )


def artifact_update(
    chain: Chain, output: Output, *, append: bool, last: bool
) -> a2a_pb2.TaskArtifactUpdateEvent:
    """The event that tells an output or a chunk of it, which replaces what was sent of it before or
    is appended to it."""
    return a2a_pb2.TaskArtifactUpdateEvent(
        task_id=chain.id,
        context_id=chain.conversation,
        artifact=artifact(output),
        append=append,
        last_chunk=last,
    )


def progress_update(chain: Chain, entry: EntryRecord) -> a2a_pb2.TaskStatusUpdateEvent | None:
    """The event for a step that an entry of the log tells of; None for other entries."""
    if entry.type != "progress":
        return None
    step: str | None = msgspec.json.decode(entry.body_json).get("step")
    if not step:
        return None
    event = a2a_pb2.TaskStatusUpdateEvent(task_id=chain.id, context_id=chain.conversation)
    event.status.state = a2a_pb2.TaskState.TASK_STATE_WORKING
    event.status.timestamp.CopyFrom(_time(entry.at))
    event.status.message.CopyFrom(_message(chain, f"{entry.message_id}_{entry.seq}", step))
    return event


def _newest_messages(chain: Chain) -> Iterator[a2a_pb2.Message]:
    """What was said, the newest first."""
    for snapshot in reversed(chain.snapshots):
        message = snapshot.message
        if message.question and snapshot is not chain.last:
            yield _message(chain, f"{message.id}_question", message.question)
        yield _message(chain, message.id, message.text, a2a_pb2.Role.ROLE_USER)


def _message(
    chain: Chain, message_id: str, text: str, role: a2a_pb2.Role = a2a_pb2.Role.ROLE_AGENT
) -> a2a_pb2.Message:
    return a2a_pb2.Message(
        message_id=message_id,
        task_id=chain.id,
        context_id=chain.conversation,
        role=role,
        parts=[a2a_pb2.Part(text=text, media_type="text/plain")],
    )


def _time(micros: int) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromMicroseconds(micros)
    return timestamp


def _metadata(chain: Chain, links: Links) -> Struct:
    """The labels that came with it, and under ``agentpost`` how we name what happens to it."""
    shape = MessageShape.of(chain.last, links)
    files: list[FileShape] = shape.files
    own: dict[str, Any] = {
        "message_id": shape.id,
        "status": shape.status.value,
        "reason": shape.reason,
        "final": shape.final,
        "credits_used": shape.credits_used,
        "notes": shape.notes,
        "file_ids": [file.file_id for file in files],
    }
    if shape.answer_format is not msgspec.UNSET:
        own["answer_format"] = msgspec.to_builtins(shape.answer_format)
    struct = Struct()
    struct.update({**labels(chain.snapshots[0].message).get("metadata", {}), "agentpost": own})
    return struct


State = a2a_pb2.TaskState
_FINAL: Final = {
    MessageStatus.COMPLETED: State.TASK_STATE_COMPLETED,
    MessageStatus.NEEDS_INPUT: State.TASK_STATE_INPUT_REQUIRED,
    MessageStatus.PARTIAL: State.TASK_STATE_FAILED,  # what is done is among the artifacts
    MessageStatus.BLOCKED: State.TASK_STATE_REJECTED,
    MessageStatus.EXPIRED: State.TASK_STATE_FAILED,
    MessageStatus.FAILED: State.TASK_STATE_FAILED,
}
TERMINAL: Final = frozenset(
    {
        State.TASK_STATE_COMPLETED,
        State.TASK_STATE_FAILED,
        State.TASK_STATE_CANCELED,
        State.TASK_STATE_REJECTED,
    }
)
PAUSED: Final = frozenset({State.TASK_STATE_INPUT_REQUIRED})

_NAMES: Final = {"conversation": "contextId", "text": "parts", "answer": "parts"}
"""What the protocol calls the fields of a message."""


def state_of(message: MessageRecord, cancelled: bool) -> a2a_pb2.TaskState:
    """The state of a task whose last message this is; ``cancelled``: its turn was stopped. One that
    waits for credits is at work: it goes on by itself, and no answer is asked for."""
    if message.status is MessageStatus.PROCESSING:
        waits = message.turn_state is TurnState.WAITING
        return State.TASK_STATE_SUBMITTED if waits else State.TASK_STATE_WORKING
    if not message.final:
        return State.TASK_STATE_WORKING
    if message.status is MessageStatus.FAILED:
        if cancelled or message.reason is Reason.STOPPED:
            return State.TASK_STATE_CANCELED
        if message.reason is Reason.AGENT_BUSY:
            return State.TASK_STATE_REJECTED
    return _FINAL[message.status]


def error_of(refusal: Refusal) -> errors.A2AError:
    """A refusal as the protocol says it; its data has our code and what to do."""
    wrong, advice = in_words(refusal, _NAMES)
    data = {"error": refusal.code.value, "advice": advice}
    if isinstance(refusal, RateLimited):
        data["retry_after_seconds"] = str(refusal.retry_after_seconds)
    text = f"{wrong} {advice}".strip()
    if refusal.code is ErrorCode.NOT_FOUND:
        return errors.TaskNotFoundError(text, data)
    if refusal.code in OURS:
        return errors.InternalError(text, data)
    return errors.InvalidParamsError(text, data)
