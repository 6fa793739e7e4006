"""Which state a task has, and which error a refusal is."""

from typing import Final

from a2a.types import a2a_pb2
from a2a.utils import errors

from agentpost.contract.errors import in_words
from agentpost.domain.errors import ErrorCode, RateLimited, Refusal
from agentpost.doors.rpc import OURS
from agentpost.jobs.rules import Reason
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.record.records import MessageRecord

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
_NO_TASK: Final = frozenset({ErrorCode.NOT_FOUND})


def state_of(message: MessageRecord, cancelled: bool) -> a2a_pb2.TaskState:
    """The state of a task whose last message this is; ``cancelled``: its turn was stopped.

    One that waits for credits is at work: it goes on by itself, and no answer is asked for.
    """
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
    if refusal.code in _NO_TASK:
        return errors.TaskNotFoundError(text, data)
    if refusal.code in OURS:
        return errors.InternalError(text, data)
    return errors.InvalidParamsError(text, data)
