"""Which status a response has, and why it failed."""

from typing import Final, Literal

from agentpost.domain.text import CUT_SHORT
from agentpost.doors.outputs import explanation_of
from agentpost.following.followers import Moment
from agentpost.jobs.rules import Reason
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.record.records import Snapshot

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]

_FINAL: Final[dict[MessageStatus, Status]] = {
    MessageStatus.COMPLETED: "completed",
    MessageStatus.NEEDS_INPUT: "completed",  # the question is its last output
    MessageStatus.PARTIAL: "incomplete",
    MessageStatus.BLOCKED: "failed",
    MessageStatus.EXPIRED: "failed",
    MessageStatus.FAILED: "failed",
}
TERMINAL: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})


def status_of(snapshot: Snapshot, cancelled: bool) -> Status:
    """The status of the response that stands for a message; ``cancelled``: its turn was stopped.

    What waits, for its turn or for credits, is ``queued``: nothing of it is lost, and nobody has to
    send it again.
    """
    message = snapshot.message
    if message.status is MessageStatus.PROCESSING:
        return "queued" if message.turn_state is TurnState.WAITING else "in_progress"
    if not message.final:
        return "queued"
    stopped = cancelled or message.reason is Reason.STOPPED
    if message.status is MessageStatus.FAILED and stopped:
        return "cancelled"
    status = _FINAL[message.status]
    return "incomplete" if status == "completed" and _is_cut_short(snapshot) else status


def _is_cut_short(snapshot: Snapshot) -> bool:
    """Whether a model could not finish what it said."""
    texts = [snapshot.message.reply, *(link.job.result for link in snapshot.links)]
    return any(text is not None and text.endswith(CUT_SHORT) for text in texts)


def is_over(moment: Moment) -> bool:
    """Whether a message brings nothing more."""
    return status_of(moment.snapshot, moment.cancelled) in TERMINAL


def error_of(snapshot: Snapshot, cancelled: bool) -> dict[str, str | None] | None:
    """The `error` of a response that failed or was cancelled: what happened and what to do.

    Some clients read a response only when its error has a ``type`` and a ``param`` as well, and
    take a cancelled one without an error for an empty answer.
    """
    message = snapshot.message
    status = status_of(snapshot, cancelled)
    if status not in ("failed", "cancelled"):
        return None
    reason = Reason.STOPPED if status == "cancelled" else message.reason
    limited = reason in (Reason.TOO_MANY_RUNNING, Reason.AGENT_BUSY)
    code = "cancelled" if status == "cancelled" else "server_error"
    return {
        "code": "rate_limit_exceeded" if limited else code,
        "type": "requests" if limited else code,
        "param": None,
        "message": explanation_of(snapshot, reason) or "The agent failed.",
    }


def incomplete_of(snapshot: Snapshot) -> dict[str, str] | None:
    """The `incomplete_details` of a response that has a part of its results, or whose text a model
    could not finish."""
    if status_of(snapshot, cancelled=False) != "incomplete":
        return None
    if snapshot.message.status is not MessageStatus.PARTIAL:
        return {"reason": "max_output_tokens"}
    reason = snapshot.message.reason
    return {"reason": reason.value if reason else "partial"}
