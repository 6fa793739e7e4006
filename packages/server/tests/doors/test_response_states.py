"""Which status and error a response has, state by state."""

from dataclasses import replace

import pytest

from agentpost.contract.errors import CATALOGUE
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.doors.openai.errors import RETRIED, NotInThisApi, code_of, kind_of
from agentpost.doors.openai.responses import message_id_of, response_id_of
from agentpost.doors.openai.states import error_of, incomplete_of, status_of
from agentpost.jobs.rules import Reason
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.record.records import MessageRecord, Snapshot

MESSAGE = MessageRecord(
    id="msg_" + "0" * 32,
    account_id="acc_1",
    key_id="key_1",
    conversation_id="cnv_1",
    conversation=None,
    text="",
    metadata_json=None,
    traceparent=None,
    webhook_endpoint_id=None,
    idempotency_key=None,
    fingerprint="",
    attachments=0,
    created_at=0,
    notes_json="[]",
    turn_wait_deadline=0,
    reply_deadline=0,
    updated_at=0,
    expires_at=0,
    turn_state=TurnState.ENDED,
)
S = MessageStatus
STATES = [
    (S.COMPLETED, None, True, "completed"),
    (S.NEEDS_INPUT, None, True, "completed"),
    (S.PARTIAL, Reason.EXECUTION_FAILED, True, "incomplete"),
    (S.PARTIAL, Reason.OUT_OF_CREDITS, False, "queued"),
    (S.BLOCKED, Reason.OUT_OF_CREDITS, False, "queued"),
    (S.BLOCKED, Reason.TOO_MANY_RUNNING, True, "failed"),
    (S.BLOCKED, Reason.HOSTING_FEES, True, "failed"),
    (S.EXPIRED, Reason.WATCH_EXPIRED, True, "failed"),
    (S.EXPIRED, Reason.QUEUE_EXPIRED, True, "failed"),
    (S.FAILED, Reason.EXECUTION_FAILED, True, "failed"),
    (S.FAILED, Reason.TURN_FAILED, True, "failed"),
    (S.FAILED, Reason.AGENT_BUSY, True, "failed"),
    (S.FAILED, Reason.STOPPED, True, "cancelled"),
    (S.FAILED, Reason.OUT_OF_CREDITS, False, "queued"),
    (S.PROCESSING, None, False, "in_progress"),
]


def message(status: MessageStatus, reason: Reason | None, final: bool) -> MessageRecord:
    return replace(MESSAGE, status=status, reason=reason, final=int(final))


@pytest.mark.parametrize(("status", "reason", "final", "expected"), STATES)
def test_the_status(
    status: MessageStatus, reason: Reason | None, final: bool, expected: str
) -> None:
    snapshot = Snapshot(message(status, reason, final), [], [])
    assert status_of(snapshot, cancelled=False) == expected
    error = error_of(snapshot, cancelled=False)
    assert (error is not None) == (expected in ("failed", "cancelled"))
    assert (incomplete_of(snapshot) is not None) == (expected == "incomplete")


def test_every_status_has_a_row() -> None:
    assert {status for status, *_ in STATES} == set(MessageStatus)


def test_a_message_that_waits_for_its_turn_is_queued() -> None:
    waiting = replace(message(S.PROCESSING, None, False), turn_state=TurnState.WAITING)
    assert status_of(Snapshot(waiting, [], []), cancelled=False) == "queued"


def test_a_message_whose_turn_was_stopped_is_cancelled() -> None:
    stopped = message(S.FAILED, Reason.TURN_FAILED, True)
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


def test_every_error_has_a_kind_and_a_code() -> None:
    for code in ErrorCode:
        status = CATALOGUE[code].status
        kind = {429: "requests"}.get(status, "server_error" if status >= 500 else None)
        assert kind_of(code) == (kind or "invalid_request_error"), code
        assert code_of(Refusal(code, "")), code
        assert (code in RETRIED) == (status in (429, 500, 503)), code


def test_a_parameter_that_is_refused_has_the_code_of_openai() -> None:
    assert code_of(NotInThisApi("unknown_parameter", "x", "is not known")) == "unknown_parameter"


def test_ids_of_responses_are_those_of_messages() -> None:
    assert message_id_of(response_id_of(MESSAGE.id)) == MESSAGE.id
    for other in ("", "resp_", MESSAGE.id, "resp_" + "0" * 31, "resp_msg_" + "0" * 32):
        assert message_id_of(other) is None
