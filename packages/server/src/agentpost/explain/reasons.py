"""What a reason means to a person, and what to do about it."""

from dataclasses import dataclass
from typing import Final

from agentpost.jobs.recovery_rules import can_recover
from agentpost.jobs.rules import VIEWS, Reason
from agentpost.messages.rules import TURN_FAILURE_TEXTS, TurnFailure
from agentpost.record.records import JobRecord


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence each: what happened, and what the reader can do."""

    what: str
    advice: str


EXPLANATIONS: Final = {
    Reason.OUT_OF_CREDITS: Explanation(
        "There are no credits left for it.",
        "Add credits: it continues where it stopped. It waits for up to 24 hours.",
    ),
    Reason.HOSTING_FEES: Explanation(
        "Hosting fees are due on this account.",
        "Ask the operator to clear them, then send the message again.",
    ),
    Reason.TOO_MANY_RUNNING: Explanation(
        "As many jobs are running as this account may have at once.",
        "Wait until one has ended, or stop one, then send the message again.",
    ),
    Reason.QUEUE_EXPIRED: Explanation(
        "No credits arrived in time, so it was given up.",
        "Add credits, then send the message again.",
    ),
    Reason.WATCH_EXPIRED: Explanation(
        "It takes longer than expected. It may still be running.",
        "Recover it: a result that has come since appears, else it is watched again.",
    ),
    Reason.RESULT_UNKNOWN: Explanation(
        "It ended without a result that could be found.",
        "Send the message again.",
    ),
    Reason.EXECUTION_FAILED: Explanation(
        "It could not be finished.",
        "Read what went wrong. Try again, or change the message or the file before you send it.",
    ),
    Reason.STOPPED: Explanation(
        "It was stopped.",
        "Files it had made are kept. Send the request again to start it again.",
    ),
    Reason.AGENT_BUSY: Explanation(
        "The agent was busy with another message of this conversation, so nothing was run.",
        "Send the message again.",
    ),
    Reason.TURN_FAILED: Explanation(
        "The agent could not answer.",
        "Send the message again; if it fails again, the server's log says why.",
    ),
}
"""Every reason."""

TURN_STOPPED: Final = Explanation(
    TURN_FAILURE_TEXTS[TurnFailure.STOPPED],
    "Send it again if its answer is still wanted.",
)
RECOVERED_OFTEN: Final = Explanation(
    "It takes longer than expected, and was recovered as often as is possible.",
    "Send the message again, or ask the operator what became of it.",
)


LASTING_FAILURE: Final = Explanation(
    "It could not be finished.",
    "As it is, it would fail the same way again. Change the message or the file, then send it.",
)
"""Of a job whose agent says so."""


def explain(job: JobRecord) -> Explanation | None:
    """What became of a job and what to do; None where nothing is wrong."""
    reason = VIEWS[job.state].reason or job.reason
    if reason is Reason.WATCH_EXPIRED and not can_recover(job.state, job.recover_requests):
        return RECOVERED_OFTEN
    return EXPLANATIONS[reason] if reason else None


def explain_turn(reason: Reason, detail: str | None) -> Explanation:
    """What became of a turn that did not answer; ``detail``: the reason in its log entry."""
    explanation = EXPLANATIONS[reason]
    if detail == TurnFailure.STOPPED:
        return TURN_STOPPED
    if detail is None or detail not in set(TurnFailure):
        return explanation
    return Explanation(TURN_FAILURE_TEXTS[TurnFailure(detail)], explanation.advice)


def is_recoverable(job: JobRecord) -> bool:
    """Whether a recover would change something."""
    return can_recover(job.state, job.recover_requests)
