"""The input of a runner: a turn or job this node owns, with everything needed to run it."""

import asyncio
from dataclasses import dataclass, field

from agentpost.agents import Said
from agentpost.record.journal_rules import Call
from agentpost.record.records import JobLink, JobRecord, MessageRecord


@dataclass(slots=True)
class TurnTicket:
    """A turn that is ours at ``epoch``, with its frozen inputs and recorded calls.

    ``confirmed_at``: when it was ours, by the node's lease; ``has_returned``: its function has;
    ``has_works``: the conversation had when it began; ``latest``: the message as this node last saw
    it, and its jobs, as `links_of` gives them: a start of a job sets both after its commit, on any
    thread.
    """

    message: MessageRecord
    epoch: int
    conversation: str
    latest: tuple[MessageRecord, list[JobLink] | None]
    calls: dict[int, Call] = field(default_factory=dict)
    confirmed_at: float = 0.0
    has_returned: asyncio.Event = field(default_factory=asyncio.Event)
    has_works: bool = False

    def links_of(self, message: MessageRecord) -> list[JobLink] | None:
        """The jobs of the message, which has no files then; None: both are to be read.

        ``message``: as it was read in this transaction. Whatever a client sees of a message, of its
        jobs or files changes the message's version. How often a job was called or taken over does
        not, so that may be older here.
        """
        if not message.jobs and not message.reply_files:
            return []
        seen_message, links = self.latest
        return links if seen_message.version == message.version else None


@dataclass(slots=True)
class JobTicket:
    """A job that is ours at ``epoch``; ``confirmed_at``: when it was, by the node's lease;
    ``turn``: the function of the turn that starts it has returned, None when it need not be waited
    for."""

    job: JobRecord
    epoch: int
    calls: dict[int, Call]
    message: Said
    traceparent: str | None
    state_json: str
    confirmed_at: float = 0.0
    response_schema_json: str | None = None
    turn: asyncio.Event | None = None
