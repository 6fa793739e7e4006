"""What each public reason means and what to do about it (spec: Reasons).

`docs/errors.md` and the server's page of errors show these tables. A reason without a row fails
`tests/house/test_docs.py`.
"""

from dataclasses import dataclass
from typing import Final

from agentpost.jobs.rules import Reason
from agentpost.messages.rules import TurnFailure
from agentpost.webhooks.endpoint_rules import DeliveryStatus, DisabledReason


@dataclass(frozen=True, slots=True)
class Meaning:
    """``meaning``: when it is given; ``advice``: what a caller does about it."""

    meaning: str
    advice: str


REASONS: Final[dict[Reason, Meaning]] = {
    Reason.OUT_OF_CREDITS: Meaning(
        "The work waits for credits. It continues after a top-up, up to 24 hours later.",
        "Add credits before `resume_by`; send nothing again.",
    ),
    Reason.HOSTING_FEES: Meaning(
        "Hosting fees of the account are due, so no new work starts.",
        "Pay them; the operator runs `agentpost hosting-fees clear ACCOUNT`. Then send the message"
        " again with a new Idempotency-Key.",
    ),
    Reason.TOO_MANY_RUNNING: Meaning(
        "The account already ran as many jobs as it may, usually five. `running` lists them.",
        "Wait until one of them ends, or stop one. Then send the message again with a new"
        " Idempotency-Key.",
    ),
    Reason.QUEUE_EXPIRED: Meaning(
        "The work waited 24 hours for credits and was dropped.",
        "Add credits and send the message again with a new Idempotency-Key.",
    ),
    Reason.WATCH_EXPIRED: Meaning(
        "The work did not report back in time. It may still run.",
        "Call `POST /v1/messages/{message_id}/recover`. It starts nothing twice.",
    ),
    Reason.RESULT_UNKNOWN: Meaning(
        "A recover found no result: the work ended and left nothing.",
        "Look at the work's files, then send the message again with a new Idempotency-Key.",
    ),
    Reason.EXECUTION_FAILED: Meaning(
        "The job failed. Its `result` entry in the log says why, in words for the user.",
        "Correct what the text names and send a new message. When it gives a log id, show that to"
        " the operator.",
    ),
    Reason.STOPPED: Meaning(
        "The work was stopped. Files made so far stay.",
        "Send a new message to start again.",
    ),
    Reason.AGENT_BUSY: Meaning(
        "Another message of the conversation took too long. The agent did not see this one.",
        "Send the identical request with the same Idempotency-Key after `retry_after_seconds`. It"
        " keeps its id.",
    ),
    Reason.TURN_FAILED: Meaning(
        "The agent could not answer. The `turn_failed` entry of the log says how it ended.",
        "Send the message again with a new Idempotency-Key. When it fails again, the operator finds"
        " the cause with `agentpost explain MESSAGE`.",
    ),
}
"""``reason`` of messages and jobs."""

TURN_FAILURES: Final[dict[TurnFailure, Meaning]] = {
    TurnFailure.ERROR: Meaning(
        "The agent's code raised an exception.", "The author of the agent reads the server's log."
    ),
    TurnFailure.EMPTY: Meaning(
        "The agent returned without a reply, a question or a job.",
        "The author of the agent makes every path answer.",
    ),
    TurnFailure.ABANDONED: Meaning(
        "The turn took longer than `turn_limit_seconds`.",
        "The author of the agent moves slow work into a job.",
    ),
    TurnFailure.INTERRUPTED: Meaning(
        "The turn ran again after a crash and made other calls than before.",
        "The author of the agent puts clocks, random numbers and requests into steps.",
    ),
    TurnFailure.POISONED: Meaning(
        "The process that ran the turn, or a step of it, ended six times meanwhile.",
        "The author of the agent finds what ends it, such as a crash in a library or a lack of"
        " memory. `agentpost explain MESSAGE` says how a process ended where that is known.",
    ),
    TurnFailure.STOPPED: Meaning("The caller cancelled the message.", "Nothing is to be done."),
    TurnFailure.OUTPUT_INVALID: Meaning(
        "The agent gave two outputs that did not fit the `response_schema`.",
        "Give a simpler schema. `agentpost explain MESSAGE` says what did not fit.",
    ),
    TurnFailure.OUTPUT_MISSING: Meaning(
        "The agent replied without the output that `response_schema` asks for.",
        "Leave `response_schema` out when the agent gives no outputs, as the built-in one.",
    ),
}
"""``reason`` of a ``turn_failed`` entry."""

DISABLED_REASONS: Final[dict[DisabledReason, Meaning]] = {
    DisabledReason.FAILING: Meaning(
        "Every attempt of three days failed.",
        "Repair the receiver, switch the endpoint on with `PATCH` and `enabled: true`, then replay"
        " what it missed.",
    ),
    DisabledReason.MANUAL: Meaning(
        "Its owner switched it off.", "Switch it on with `PATCH` and `enabled: true`."
    ),
}
"""``disabled_reason`` of a webhook endpoint."""

DELIVERY_STATUSES: Final[dict[DeliveryStatus, Meaning]] = {
    DeliveryStatus.PENDING: Meaning("It is sent now or will be tried again.", "Nothing."),
    DeliveryStatus.DELIVERED: Meaning("The receiver answered with a 2xx.", "Nothing."),
    DeliveryStatus.FAILED: Meaning(
        "No attempt succeeded before the event was too old.",
        "Read the message; its state is not older than its events.",
    ),
    DeliveryStatus.DROPPED: Meaning(
        "The endpoint was off when the event happened or came due.",
        "Switch the endpoint on and replay.",
    ),
    DeliveryStatus.CANCELLED: Meaning("The endpoint was deleted.", "Nothing."),
}
"""``status`` of a delivery."""
