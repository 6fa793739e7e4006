"""The input of a runner: a turn or job this node owns, with everything needed to run it; and how a
job comes to its runner in the same process."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from agentpost.agents import Said
from agentpost.db.session import Tx
from agentpost.record.journal_rules import Call
from agentpost.record.records import JobLink, JobRecord, MessageRecord, Snapshot
from agentpost.wakeups.base import Wakeups


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


# A call that waits for a message and is woken by the hint would read the row again, and so would
# the runner of a job that was placed here: a transaction on another thread each. Where nothing was
# handed over, as after a commit of another node, they do read.
class Handover:
    """The newest committed state of the messages that calls wait for, and jobs that are about to
    run. Safe on any thread."""

    def __init__(self, wakeups: Wakeups) -> None:
        self._wakeups = wakeups
        self._jobs: dict[str, JobTicket] = {}

    # --- to the calls that wait for a message -----------------------------------------------------
    def offer(self, tx: Tx, message_id: str, snapshot: Callable[[], Snapshot]) -> None:
        """Give the message to who waits for it, once the transaction is committed; ``snapshot`` is
        called when somebody does, and what it returns does not change after the commit. To be
        called before a hint is published: what a hint wakes looks here first."""
        with self._wakeups.lock:
            is_awaited = any(one.takes_state for one in self._wakeups.waits.get(message_id, ()))
        if is_awaited:
            tx.after(partial(self.give, message_id, snapshot()))

    def give(self, message_id: str, snapshot: Snapshot | None) -> None:
        """Give the message to who waits for it now. None: another process may have changed it, so
        it is to be read."""
        with self._wakeups.lock:
            for wait in self._wakeups.waits.get(message_id, ()):
                wait.newest = snapshot

    # --- to the runner of a job -------------------------------------------------------------------
    def put_job(self, ticket: JobTicket, node: str) -> None:
        """Give the job to its runner, if it is ``node`` that it was placed on. To be called after
        the commit and before the job is dispatched."""
        if ticket.job.node == node:
            self._jobs[ticket.job.id] = ticket

    def take_job(self, job_id: str, epoch: int) -> JobTicket | None:
        """The job that was placed here at that epoch; None: it has to be read."""
        ticket = self._jobs.pop(job_id, None)
        return ticket if ticket is not None and ticket.epoch == epoch else None
