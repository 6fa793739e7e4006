"""The input of a runner: a turn or job this node owns, with everything needed to run it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agentpost.agents import Said
from agentpost.domain.journal import Call
from agentpost.domain.records import JobRecord, MessageRecord


@dataclass(slots=True)
class TurnTicket:
    """A turn, with its frozen inputs and recorded calls; ``confirmed``: when it was ours, by the
    node's lease; ``returned``: its function has."""

    message: MessageRecord
    conversation: str
    calls: dict[int, Call] = field(default_factory=dict)
    confirmed: float = 0.0
    returned: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def epoch(self) -> int:
        """The epoch at which this node owns it."""
        return self.message.turn_epoch


@dataclass(slots=True)
class JobTicket:
    """A job that is ours at ``epoch``; ``confirmed``: when it was, by the node's lease; ``turn``:
    the function of the turn that starts it has returned, None when it need not be waited for."""

    job: JobRecord
    epoch: int
    calls: dict[int, Call]
    message: Said
    state_json: str
    confirmed: float = 0.0
    response_schema_json: str | None = None
    turn: asyncio.Event | None = None
