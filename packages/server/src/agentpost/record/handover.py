"""Hand what a commit has in its hands to who needs it in the same process.

A call that waits for a message and is woken by the hint would read the row again, and so would the
runner of a job that was placed here: a transaction on another thread each. Where nothing was handed
over, as after a commit of another node, they do read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from agentpost.db.session import Tx
from agentpost.record.records import Snapshot
from agentpost.record.tickets import JobTicket


@dataclass(slots=True)
class _Watch:
    calls: int = 0
    newest: Snapshot | None = None


class Handover:
    """The newest committed state of the messages that calls wait for, and jobs that are about to
    run. Safe on any thread, but for what is said of it."""

    def __init__(self) -> None:
        self._watched: dict[str, _Watch] = {}
        self._jobs: dict[str, JobTicket] = {}

    # --- to the calls that wait for a message -----------------------------------------------------
    def watch(self, message_id: str) -> None:
        """Until `unwatch`, `newer` knows what commits make of the message. For the API's loop
        alone."""
        self._watched.setdefault(message_id, _Watch()).calls += 1

    def unwatch(self, message_id: str) -> None:
        """A call that watched has ended."""
        watch = self._watched[message_id]
        watch.calls -= 1
        if not watch.calls:
            del self._watched[message_id]

    def newer(self, message_id: str, version: int) -> Snapshot | None:
        """What the last commit of this process made of the message, if it was after that version.
        Not to be changed: every call that is held gets the same."""
        watch = self._watched.get(message_id)
        snapshot = watch.newest if watch is not None else None
        return snapshot if snapshot is not None and snapshot.message.version > version else None

    def discard(self, message_id: str) -> None:
        """Another process may have changed the message: it is to be read."""
        self._put(message_id, None)

    # --- from a commit ----------------------------------------------------------------------------
    def offer(self, tx: Tx, message_id: str, snapshot: Callable[[], Snapshot]) -> None:
        """Give the message to who waits for it, once the transaction is committed; ``snapshot`` is
        called when somebody does, and what it returns does not change after the commit. To be
        called before a hint is published: what a hint wakes looks here first."""
        if message_id in self._watched:
            tx.after(partial(self._put, message_id, snapshot()))

    def _put(self, message_id: str, snapshot: Snapshot | None) -> None:
        watch = self._watched.get(message_id)
        if watch is not None:
            watch.newest = snapshot

    # --- to the runner of a job -------------------------------------------------------------------
    def put_job(self, ticket: JobTicket, node: str) -> None:
        """Give the job to its runner, if it is ``node`` that it was placed on. To be called after
        the commit and before the job is dispatched."""
        if ticket.job.node == node:
            self._jobs[ticket.job.id] = ticket

    def take_job(self, job_id: str, epoch: int) -> JobTicket | None:
        """The job that was placed here at that epoch; None: it has to be read."""
        snapshot = self._jobs.pop(job_id, None)
        return snapshot if snapshot is not None and snapshot.epoch == epoch else None
