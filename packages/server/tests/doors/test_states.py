"""What is made of each outcome and of each refusal at each door, row by row."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.contract.errors import CATALOGUE
from agentpost.domain.errors import ErrorCode, RateLimited, Refusal
from agentpost.doors.mcp.backend import BackendError
from agentpost.doors.openai.errors import RETRIED, NotInThisApi, code_of, kind_of
from agentpost.doors.openai.responses import message_id_of, response_id_of
from agentpost.doors.openai.states import error_of, incomplete_of, status_of
from agentpost.doors.rpc import Call
from agentpost.following import followers
from agentpost.http.request_state import RequestState
from agentpost.jobs.rules import Reason
from agentpost.limits.allowances import rules_of
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.record.records import MessageRecord, Snapshot
from agentpost.settings import load_settings
from tests.contract.test_shapes import blank
from tests.libraries import Later, a2a_errors, a2a_pb2

if TYPE_CHECKING:
    from agentpost.doors.a2a import tasks
    from agentpost.doors.mcp import results
else:
    tasks, results = Later("agentpost.doors.a2a.tasks"), Later("agentpost.doors.mcp.results")

MESSAGE: MessageRecord = blank(
    MessageRecord,
    id="msg_" + "0" * 32,
    notes_json="[]",
    turn_state=TurnState.ENDED,
    created_at=0,
    updated_at=0,
)
S = MessageStatus
R = Reason
STATES = [
    (S.PROCESSING, None, False, "WORKING", "in_progress", "follow_message"),
    (S.COMPLETED, None, True, "COMPLETED", "completed", "It is done."),
    (S.NEEDS_INPUT, None, True, "INPUT_REQUIRED", "completed", "answer_question"),
    (S.PARTIAL, R.EXECUTION_FAILED, True, "FAILED", "incomplete", "read the results"),
    (S.PARTIAL, R.OUT_OF_CREDITS, False, "WORKING", "queued", "it continues then"),
    (S.BLOCKED, R.OUT_OF_CREDITS, False, "WORKING", "queued", "it continues then"),
    (S.BLOCKED, R.TOO_MANY_RUNNING, True, "REJECTED", "failed", "stop_work"),
    (S.BLOCKED, R.HOSTING_FEES, True, "REJECTED", "failed", "hosting fees"),
    (S.EXPIRED, R.WATCH_EXPIRED, True, "FAILED", "failed", "recover_message"),
    (S.EXPIRED, R.QUEUE_EXPIRED, True, "FAILED", "failed", "No credits came"),
    (S.FAILED, R.EXECUTION_FAILED, True, "FAILED", "failed", "change the message"),
    (S.FAILED, R.TURN_FAILED, True, "FAILED", "failed", "change the message"),
    (S.FAILED, R.STOPPED, True, "CANCELED", "cancelled", "start again"),
    (S.FAILED, R.AGENT_BUSY, True, "REJECTED", "failed", "15 seconds"),
    (S.FAILED, R.OUT_OF_CREDITS, False, "WORKING", "queued", "it continues then"),
]
"""What became of a message; the state of a task, the status of a response, what a tool advises."""


def message(status: MessageStatus, reason: Reason | None, final: bool) -> MessageRecord:
    return replace(MESSAGE, status=status, reason=reason, final=int(final))


@pytest.mark.parametrize(("status", "reason", "final", "task", "response", "step"), STATES)
def test_an_outcome(
    status: S, reason: Reason | None, final: bool, task: str, response: str, step: str
) -> None:
    record = message(status, reason, final)
    state = tasks.state_of(record, cancelled=False)
    assert a2a_pb2.TaskState.Name(state) == f"TASK_STATE_{task}"
    assert (state in tasks.TERMINAL | tasks.PAUSED) == final
    snapshot = Snapshot(record, [], [])
    assert status_of(snapshot, cancelled=False) == response
    error = error_of(snapshot, cancelled=False)
    assert (error is not None) == (response in ("failed", "cancelled"))
    assert (incomplete_of(snapshot) is not None) == (response == "incomplete")
    assert step in results.next_step(status, reason, final)


def test_every_status_and_reason_has_a_row_or_advice() -> None:
    """Also those of a later server."""
    assert {status for status, *_ in STATES} == set(MessageStatus)
    assert all(results.next_step("failed", reason, True) for reason in Reason)
    assert "change the message" in results.next_step("failed", "a_reason_of_a_later_server", True)
    assert "change the message" in results.next_step("a_later_status", None, True)


def test_a_message_that_waits_for_its_turn_is_queued() -> None:
    waiting = replace(message(S.PROCESSING, None, False), turn_state=TurnState.WAITING)
    assert tasks.state_of(waiting, cancelled=False) == a2a_pb2.TASK_STATE_SUBMITTED
    assert status_of(Snapshot(waiting, [], []), cancelled=False) == "queued"


def test_a_message_whose_turn_was_stopped_is_cancelled() -> None:
    stopped = message(S.FAILED, Reason.TURN_FAILED, True)
    assert tasks.state_of(stopped, cancelled=True) == a2a_pb2.TASK_STATE_CANCELED
    snapshot = Snapshot(stopped, [], [])
    assert status_of(snapshot, cancelled=True) == "cancelled"
    error = error_of(snapshot, cancelled=True)
    assert error is not None
    assert (error["code"], error["message"]) == (
        "cancelled",
        "It was stopped. Files it had made are kept. Send the request again to start it again.",
    )


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (Reason.TOO_MANY_RUNNING, "rate_limit_exceeded"),
        (Reason.AGENT_BUSY, "rate_limit_exceeded"),
        (Reason.TURN_FAILED, "server_error"),
        (Reason.WATCH_EXPIRED, "server_error"),
    ],
)
def test_the_code_of_a_failure(reason: Reason, code: str) -> None:
    error = error_of(Snapshot(message(S.FAILED, reason, True), [], []), cancelled=False)
    assert error is not None
    assert error["code"] == code
    assert error["message"]
    assert error.keys() == {"code", "type", "param", "message"}


# --- refusals -------------------------------------------------------------------------------------
TASK_ERRORS = {
    ErrorCode.NOT_FOUND: "TaskNotFoundError",
    ErrorCode.INTERNAL: "InternalError",
    ErrorCode.UNAVAILABLE: "InternalError",
    ErrorCode.RATE_LIMITED: "InternalError",
}


@pytest.mark.parametrize("code", ErrorCode)
def test_a_refusal(code: ErrorCode) -> None:
    """It says what to do; what may be sent again is what it was in all other doors."""
    from agentpost.doors.mcp.server import code_of as number_of

    error = tasks.error_of(Refusal(code, "It is so."))
    assert type(error) is getattr(a2a_errors, TASK_ERRORS.get(code, "InvalidParamsError"))
    assert error.message.startswith("It is so. ")
    assert error.data is not None
    assert error.data["error"] == code
    assert error.data["advice"]
    status = CATALOGUE[code].status
    kind = {429: "requests"}.get(status, "server_error" if status >= 500 else None)
    assert kind_of(code) == (kind or "invalid_request_error")
    assert code_of(Refusal(code, ""))
    assert (code in RETRIED) == (status in (429, 500, 503))
    theirs = code in ("internal", "unavailable")
    assert number_of(BackendError(code, "", "")) == (-32603 if theirs else -32602)


def test_a_parameter_that_is_refused_has_the_code_of_openai() -> None:
    assert code_of(NotInThisApi("unknown_parameter", "x", "is not known")) == "unknown_parameter"


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
        await handler.on_get_task(a2a_pb2.GetTaskRequest(id=MESSAGE.id), context)
    assert "NoneType" not in failed.value.message
    assert failed.value.data is not None
    assert failed.value.data["error"] == "internal"


def test_ids_of_responses_are_those_of_messages() -> None:
    assert message_id_of(response_id_of(MESSAGE.id)) == MESSAGE.id
    for other in ("", "resp_", MESSAGE.id, "resp_" + "0" * 31, "resp_msg_" + "0" * 32):
        assert message_id_of(other) is None
