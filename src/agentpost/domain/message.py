"""Words for messages: the turn's states and the public statuses (spec: Message status;
Transitions).
"""

from __future__ import annotations

from enum import StrEnum


class TurnState(StrEnum):
    """Where the agent's handling of one message stands."""

    WAITING = "waiting"  # accepted; another turn of the conversation goes first
    RUNNING = "running"  # the agent has it
    ENDED = "ended"  # the agent answered, asked or started something
    FAILED = "failed"  # it raised, said nothing, took too long or diverged
    BUSY = "busy"  # it waited too long for the turn before it; nothing ran


OPEN_TURNS = frozenset({TurnState.WAITING, TurnState.RUNNING})


class MessageStatus(StrEnum):
    """What a client reads; derived in `domain.status`, never set."""

    PROCESSING = "processing"
    NEEDS_INPUT = "needs_input"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    EXPIRED = "expired"


class TurnFailure(StrEnum):
    """Why a turn failed: the ``reason`` of its ``turn_failed`` entry (design: How a turn ends)."""

    ERROR = "error"
    EMPTY = "empty"
    ABANDONED = "abandoned"
    INTERRUPTED = "interrupted"


TURN_FAILURE_TEXTS = {
    TurnFailure.ERROR: "The agent failed while answering.",
    TurnFailure.EMPTY: "The agent ended its turn without an answer.",
    TurnFailure.ABANDONED: "The agent took too long to answer.",
    TurnFailure.INTERRUPTED: "The answer was interrupted and could not be continued.",
}
AGENT_BUSY_TEXT = "The agent is busy with another message; nothing was run. Send it again."
