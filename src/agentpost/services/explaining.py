"""What a reason means to a person, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentpost.domain.job import Reason


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
        "Look again later: a late result appears here.",
    ),
    Reason.RESULT_UNKNOWN: Explanation(
        "It ended without a result that could be found.",
        "Send the message again.",
    ),
    Reason.EXECUTION_FAILED: Explanation(
        "It could not be finished.",
        "Read what went wrong, change the message or the file, and send it again.",
    ),
    Reason.STOPPED: Explanation(
        "It was stopped.",
        "The files it had made are kept. Send a message to start again.",
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
