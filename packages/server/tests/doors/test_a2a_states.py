"""Which state a task has and which error a refusal is, row by row."""

from typing import TYPE_CHECKING, cast

import pytest

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.domain.errors import ErrorCode, RateLimited, Refusal
from agentpost.doors.rpc import Call
from agentpost.following import followers
from agentpost.http.request_state import RequestState
from agentpost.jobs.rules import Reason
from agentpost.limits.allowances import rules_of
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.settings import load_settings
from tests.doors.test_response_states import message
from tests.libraries import Later, a2a_errors, a2a_pb2

if TYPE_CHECKING:
    from agentpost.doors.a2a import tasks
else:
    tasks = Later("agentpost.doors.a2a.tasks")

S = MessageStatus
STATES = [
    (S.PROCESSING, None, False, "WORKING"),
    (S.COMPLETED, None, True, "COMPLETED"),
    (S.NEEDS_INPUT, None, True, "INPUT_REQUIRED"),
    (S.PARTIAL, Reason.EXECUTION_FAILED, True, "FAILED"),
    (S.PARTIAL, Reason.OUT_OF_CREDITS, False, "WORKING"),
    (S.BLOCKED, Reason.OUT_OF_CREDITS, False, "WORKING"),
    (S.BLOCKED, Reason.TOO_MANY_RUNNING, True, "REJECTED"),
    (S.BLOCKED, Reason.HOSTING_FEES, True, "REJECTED"),
    (S.EXPIRED, Reason.WATCH_EXPIRED, True, "FAILED"),
    (S.FAILED, Reason.EXECUTION_FAILED, True, "FAILED"),
    (S.FAILED, Reason.TURN_FAILED, True, "FAILED"),
    (S.FAILED, Reason.STOPPED, True, "CANCELED"),
    (S.FAILED, Reason.AGENT_BUSY, True, "REJECTED"),
]


@pytest.mark.parametrize(("status", "reason", "final", "expected"), STATES)
def test_the_state(status: S, reason: Reason | None, final: bool, expected: str) -> None:
    found = tasks.state_of(message(status, reason, final), cancelled=False)
    assert a2a_pb2.TaskState.Name(found) == f"TASK_STATE_{expected}"
    assert (found in tasks.TERMINAL | tasks.PAUSED) == final


def test_every_status_has_a_row() -> None:
    assert {status for status, *_ in STATES} == set(MessageStatus)


def test_a_message_that_waits_for_its_turn_is_submitted() -> None:
    waiting = message(S.PROCESSING, None, False)
    waiting.turn_state = TurnState.WAITING
    assert tasks.state_of(waiting, cancelled=False) == a2a_pb2.TASK_STATE_SUBMITTED


def test_a_message_whose_turn_was_stopped_is_cancelled() -> None:
    stopped = message(S.FAILED, Reason.TURN_FAILED, True)
    assert tasks.state_of(stopped, cancelled=True) == a2a_pb2.TASK_STATE_CANCELED


ERRORS = {
    ErrorCode.NOT_FOUND: "TaskNotFoundError",
    ErrorCode.INTERNAL: "InternalError",
    ErrorCode.UNAVAILABLE: "InternalError",
    ErrorCode.RATE_LIMITED: "InternalError",
}


def test_every_refusal_is_an_error_that_says_what_to_do() -> None:
    for code in ErrorCode:
        error = tasks.error_of(Refusal(code, "It is so."))
        assert type(error) is getattr(a2a_errors, ERRORS.get(code, "InvalidParamsError")), code
        assert error.message.startswith("It is so. "), code
        assert error.data is not None, code
        assert error.data["error"] == code
        assert error.data["advice"], code


def test_a_rate_limit_says_how_long_to_wait() -> None:
    error = tasks.error_of(RateLimited("Too many.", 60))
    assert error.data is not None
    assert error.data["retry_after_seconds"] == "60"


async def test_a_fault_is_logged_and_its_text_is_kept_from_the_client() -> None:
    from a2a.server.context import ServerCallContext

    from agentpost.doors.a2a.handler import TaskHandler

    caller = Caller("key_1", "k", "acc_1", rules_of(load_settings()))
    state = RequestState("req_1", at=0, began=0.0, caller=caller)
    ctx = cast("AppContext", None)  # reading from it fails
    handler = TaskHandler(ctx, caller, state, Call(b"", {}, {}), followers.nobody_hangs_up)
    context = ServerCallContext()
    with pytest.raises(a2a_errors.InternalError) as failed:
        await handler.on_get_task(a2a_pb2.GetTaskRequest(id="msg_" + "0" * 32), context)
    assert "NoneType" not in failed.value.message
    assert failed.value.data is not None
    assert failed.value.data["error"] == "internal"
