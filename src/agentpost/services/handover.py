"""Hand what a commit made of a message to the POST that waits for it in the same process.

Without it the POST, woken by the hint, reads the row again: a transaction on another thread for
what the commit had in its hands. Where nothing was handed over, as after a commit of another node,
it does read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentpost.db.session import Tx
from agentpost.domain.records import Snapshot


class Handover:
    """The newest committed state of the messages that POST calls wait for. Safe on any thread."""

    def __init__(self) -> None:
        self._newest: dict[str, Snapshot | None] = {}

    def expect(self, message_id: str) -> None:
        """Keep what commits make of the message, until `forget`."""
        self._newest[message_id] = None

    def forget(self, message_id: str) -> None:
        """Nobody waits for the message any more."""
        self._newest.pop(message_id, None)

    def offer(self, tx: Tx, message_id: str, snapshot: Callable[[], Snapshot]) -> None:
        """Give the message to who waits for it, once the transaction is committed; ``snapshot`` is
        called when somebody does, and what it returns does not change after the commit. To be
        called before a hint is published: what a hint wakes looks here first."""
        if message_id in self._newest:
            tx.after(partial(self._put, message_id, snapshot()))

    def take(self, message_id: str) -> Snapshot | None:
        """What the last commit made of the message; None: nothing new was handed over."""
        found = self._newest.get(message_id)
        if found is not None:
            self._newest[message_id] = None
        return found

    def _put(self, message_id: str, snapshot: Snapshot) -> None:
        if message_id in self._newest:
            self._newest[message_id] = snapshot
