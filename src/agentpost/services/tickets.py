"""The input of a runner: a turn or job this node owns, with everything needed to run it."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentpost.agents import Said
from agentpost.domain.journal import Call
from agentpost.domain.records import JobRecord, MessageRecord


@dataclass(slots=True)
class TurnTicket:
    """A turn, with its frozen inputs and recorded calls; ``confirmed``: when it was ours, by the
    node's lease."""

    message: MessageRecord
    conversation: str
    calls: dict[int, Call] = field(default_factory=dict)
    confirmed: float = 0.0

    @property
    def epoch(self) -> int:
        """The epoch at which this node owns it."""
        return self.message.turn_epoch


@dataclass(slots=True)
class JobTicket:
    """A job that is ours at ``epoch``; ``confirmed``: when it was, by the node's lease."""

    job: JobRecord
    epoch: int
    calls: dict[int, Call]
    message: Said
    state_json: str
    confirmed: float = 0.0
