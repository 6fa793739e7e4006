"""Words for messages: the turn's states and the public statuses (spec: Message status;
Transitions).
"""

from enum import StrEnum


class TurnState(StrEnum):
    """Where the agent's handling of one message stands."""

    WAITING = "waiting"  # accepted; another turn of the conversation goes first
    RUNNING = "running"  # the agent has it
    ENDED = "ended"  # the agent answered, asked or started something
    FAILED = "failed"  # it raised, said nothing, took too long, diverged, was cancelled or given up
    BUSY = "busy"  # it could or would not wait for the turn before it; nothing ran


OPEN_TURNS = frozenset({TurnState.WAITING, TurnState.RUNNING})


class WhenBusy(StrEnum):
    """What a message does while its conversation has another turn (design: One turn at a time)."""

    WAIT = "wait"  # for a while, then ``agent_busy``
    FAIL = "fail"  # ``agent_busy`` at once
    QUEUE = "queue"  # its turn comes, nobody holds a call for it


class MessageStatus(StrEnum):
    """What a client reads; derived in `messages.status_rules`, never set."""

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
    POISONED = "poisoned"
    STOPPED = "stopped"
    OUTPUT_INVALID = "output_invalid"
    OUTPUT_MISSING = "output_missing"


TURN_FAILURE_TEXTS = {
    TurnFailure.ERROR: "The agent failed while answering.",
    TurnFailure.EMPTY: "The agent ended its turn without an answer.",
    TurnFailure.ABANDONED: "The agent took too long to answer.",
    TurnFailure.INTERRUPTED: "The answer was interrupted and could not be continued.",
    TurnFailure.POISONED: (
        "The answer was given up: the process that made it ended six times in a row."
    ),
    TurnFailure.STOPPED: "The message was cancelled.",
    TurnFailure.OUTPUT_INVALID: "The agent's output did not fit the response_schema, twice.",
    TurnFailure.OUTPUT_MISSING: "The agent gave no output for the response_schema.",
}
AGENT_BUSY_TEXT = "The agent is busy with another message; nothing was run. Send it again."
