"""A message with those that go on from it: an answer belongs to the same task as its question in
some protocols.

Each further message of a chain holds an idempotency key that names the first one and its own
number, so finding them takes no table of its own, and two answers at once cannot both be the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.following.followers import was_cancelled
from agentpost.messages import lists, rows as message_rows
from agentpost.messages.filter_rules import MessageFilter
from agentpost.record.records import MessageRecord, Snapshot
from agentpost.transactions import read_transaction

_PREFIX: Final = "chain/"
LENGTH_MAX: Final = 100
"""Messages of one chain."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The messages from the first to the last."""

    snapshots: Sequence[Snapshot]
    cancelled: bool
    """Whether somebody stopped the last one's turn."""

    @property
    def id(self) -> str:
        """The id of the first message stands for all of them."""
        return self.snapshots[0].message.id

    @property
    def conversation(self) -> str:
        """Its name, "" for the one of messages without a name."""
        return self.snapshots[0].message.conversation or ""

    @property
    def last(self) -> Snapshot:
        """The message that says how things stand."""
        return self.snapshots[-1]


def next_key(chain: Chain) -> str:
    """The idempotency key of the message that goes on from the chain."""
    return _key(chain.id, len(chain.snapshots))


@read_transaction
def look(tx: Tx, ctx: AppContext, caller: Caller, first_id: str) -> Chain:
    """The chain that begins with a message of the key; raises ``not_found``, also for one that goes
    on from another."""
    first = None
    if ids.is_id(ids.MESSAGE, first_id):
        first = message_rows.get_of_key(tx, first_id, caller.key_id, ctx.clock.now())
    if first is None or _goes_on(first):
        raise not_found("task")
    return _chain(tx, caller, first)


async def newest(
    ctx: AppContext, caller: Caller, conversation: str | None, limit: int
) -> list[Chain]:
    """The chains that begin with one of the key's newest messages, of one conversation or of all,
    newest first."""
    list_filter = MessageFilter(conversation=conversation)
    page = await lists.list_page(ctx, caller, list_filter, before=None, limit=limit)
    firsts = [each.message for each in page.messages if not _goes_on(each.message)]
    return await ctx.db.read(lambda tx: [_chain(tx, caller, first) for first in firsts])


def _chain(tx: Tx, caller: Caller, first: MessageRecord) -> Chain:
    messages = [first]
    while len(messages) < LENGTH_MAX:
        key = _key(first.id, len(messages))
        following = message_rows.of_idempotency_key(tx, caller.key_id, key)
        if following is None:
            break
        messages.append(following)
    snapshots = [message_rows.snapshot(tx, message) for message in messages]
    return Chain(snapshots, was_cancelled(tx, messages[-1]))


def _goes_on(message: MessageRecord) -> bool:
    return (message.idempotency_key or "").startswith(_PREFIX)


def _key(first_id: str, n: int) -> str:
    return f"{_PREFIX}{first_id}/{n}"
