"""Which state a task has and which error a refusal is, row by row."""

from types import SimpleNamespace
from typing import cast

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import a2a_pb2
from a2a.utils import errors

from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.domain.errors import ErrorCode, RateLimited, Refusal
from agentpost.doors.a2a.handler import EXCHANGE, Exchange, TaskHandler
from agentpost.doors.a2a.parts import FILES_AT
from agentpost.doors.a2a.states import PAUSED, TERMINAL, error_of, state_of
from agentpost.doors.bodies import FileTexts
from agentpost.doors.rpc import Call
from agentpost.following import followers
from agentpost.http.request_state import RequestState
from agentpost.jobs.rules import Reason
from agentpost.messages.rules import MessageStatus, TurnState
from tests.doors.test_response_states import message

S = MessageStatus
T = a2a_pb2.TaskState
STATES = [
    (S.PROCESSING, None, False, T.TASK_STATE_WORKING),
    (S.COMPLETED, None, True, T.TASK_STATE_COMPLETED),
    (S.NEEDS_INPUT, None, True, T.TASK_STATE_INPUT_REQUIRED),
    (S.PARTIAL, Reason.EXECUTION_FAILED, True, T.TASK_STATE_FAILED),
    (S.PARTIAL, Reason.OUT_OF_CREDITS, False, T.TASK_STATE_WORKING),
    (S.BLOCKED, Reason.OUT_OF_CREDITS, False, T.TASK_STATE_WORKING),
    (S.BLOCKED, Reason.TOO_MANY_RUNNING, True, T.TASK_STATE_REJECTED),
    (S.BLOCKED, Reason.HOSTING_FEES, True, T.TASK_STATE_REJECTED),
    (S.EXPIRED, Reason.WATCH_EXPIRED, True, T.TASK_STATE_FAILED),
    (S.FAILED, Reason.EXECUTION_FAILED, True, T.TASK_STATE_FAILED),
    (S.FAILED, Reason.TURN_FAILED, True, T.TASK_STATE_FAILED),
    (S.FAILED, Reason.STOPPED, True, T.TASK_STATE_CANCELED),
    (S.FAILED, Reason.AGENT_BUSY, True, T.TASK_STATE_REJECTED),
]


@pytest.mark.parametrize(("status", "reason", "final", "expected"), STATES)
def test_the_state(status: S, reason: Reason | None, final: bool, expected: int) -> None:
    found = state_of(message(status, reason, final), cancelled=False)
    assert found == expected
    assert (found in TERMINAL | PAUSED) == final


def test_every_status_has_a_row() -> None:
    assert {status for status, *_ in STATES} == set(MessageStatus)


def test_a_message_that_waits_for_its_turn_is_submitted() -> None:
    waiting = message(S.PROCESSING, None, False)
    waiting.turn_state = TurnState.WAITING
    assert state_of(waiting, cancelled=False) == T.TASK_STATE_SUBMITTED


def test_a_message_whose_turn_was_stopped_is_cancelled() -> None:
    stopped = message(S.FAILED, Reason.TURN_FAILED, True)
    assert state_of(stopped, cancelled=True) == T.TASK_STATE_CANCELED


ERRORS = {
    ErrorCode.NOT_FOUND: errors.TaskNotFoundError,
    ErrorCode.INTERNAL: errors.InternalError,
    ErrorCode.UNAVAILABLE: errors.InternalError,
    ErrorCode.RATE_LIMITED: errors.InternalError,
}


@pytest.mark.parametrize("code", ErrorCode)
def test_every_refusal_is_an_error_that_says_what_to_do(code: ErrorCode) -> None:
    error = error_of(Refusal(code, "It is so."))
    assert type(error) is ERRORS.get(code, errors.InvalidParamsError)
    assert error.message.startswith("It is so. ")
    assert error.data is not None
    assert error.data["error"] == code
    assert error.data["advice"]


def test_a_rate_limit_says_how_long_to_wait() -> None:
    error = error_of(RateLimited("Too many.", 60))
    assert error.data is not None
    assert error.data["retry_after_seconds"] == "60"


async def test_a_fault_is_logged_and_its_text_is_kept_from_the_client() -> None:
    state = RequestState("req_1", at=0, began=0.0, caller=Caller("key_1", "k", "acc_1"))
    exchange = Exchange(state, Call(b"", {}, FileTexts(FILES_AT, 0)), followers.nobody_hangs_up)
    context = ServerCallContext(state={EXCHANGE: exchange})
    handler = TaskHandler(cast("Api", SimpleNamespace(ctx=None)))  # reading from it fails
    with pytest.raises(errors.InternalError) as failed:
        await handler.on_get_task(a2a_pb2.GetTaskRequest(id="msg_" + "0" * 32), context)
    assert "NoneType" not in failed.value.message
    assert failed.value.data is not None
    assert failed.value.data["error"] == "internal"
