"""Hand what a commit made of a message to the POST that waits for it in the same process.

Without it the POST, woken by the hint, reads the row again: a transaction on another thread for
what the commit had in its hands. Where nothing was handed over, as after a commit of another node,
it does read.
"""

from __future__ import annotations

from functools import partial

from agentpost.db.session import Tx
from agentpost.domain.records import MessageRecord, Snapshot


class Handover:
    """The newest committed state of the messages that POST calls wait for. Safe on any thread."""

    def __init__(self) -> None:
        self._newest: dict[str, MessageRecord | None] = {}

    def expect(self, message_id: str) -> None:
        """Keep what commits make of the message, until `forget`."""
        self._newest[message_id] = None

    def forget(self, message_id: str) -> None:
        """Nobody waits for the message any more."""
        self._newest.pop(message_id, None)

    def offer(self, tx: Tx, message: MessageRecord) -> None:
        """Give the message to who waits for it, as it is when the transaction is committed; after
        that it does not change. To be called before a hint is published: what a hint wakes looks
        here first.

        A message with jobs or files is left out: they are in rows of their own.
        """
        if message.id in self._newest and not (message.jobs or message.reply_files):
            tx.after(partial(self._put, message))

    def take(self, message_id: str) -> Snapshot | None:
        """What the last commit made of the message; None: nothing new was handed over."""
        message = self._newest.get(message_id)
        if message is None:
            return None
        self._newest[message_id] = None
        return Snapshot(message, [], [])

    def _put(self, message: MessageRecord) -> None:
        if message.id in self._newest:
            self._newest[message.id] = message
