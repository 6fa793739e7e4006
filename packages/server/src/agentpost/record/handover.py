"""Hand what a commit has in its hands to who needs it in the same process.

A call that waits for a message and is woken by the hint would read the row again, and so would the
runner of a job that was placed here: a transaction on another thread each. Where nothing was handed
over, as after a commit of another node, they do read.
"""

from collections.abc import Callable
from functools import partial

from agentpost.db.session import Tx
from agentpost.record.records import Snapshot
from agentpost.record.tickets import JobTicket
from agentpost.wakeups.base import Wakeups


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
