"""Reading messages (spec: getMessage)."""

from collections.abc import Callable

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.messages import list_rows, rows as message_rows
from agentpost.messages.filter_rules import MessageFilter
from agentpost.record.records import MessageSummary, Snapshot
from agentpost.transactions import read_transaction, write_transaction


@read_transaction
def get(tx: Tx, ctx: AppContext, caller: Caller, message_id: str) -> Snapshot:
    """A message of the key, with all that a client sees; raises ``not_found``."""
    if not ids.is_id(ids.MESSAGE, message_id):
        raise not_found("message")
    message_rows.prefetch_snapshot(tx, message_id)
    return _of_key(tx, caller, message_id, ctx.clock.now())


@read_transaction
def get_once_settled(
    tx: Tx,
    ctx: AppContext,
    caller: Caller,
    message_id: str,
    has_seen: Callable[[int], bool] | None,
) -> Snapshot | tuple[int, int]:
    """`get` for who is ready to wait: (version, state_version) of a message that is not final, and
    of which the caller has seen that version. Most of a message is not read then."""
    if not ids.is_id(ids.MESSAGE, message_id):
        raise not_found("message")
    now = ctx.clock.now()
    state = message_rows.state_of_key(tx, message_id, caller.key_id, now)
    if state is not None and not state[2] and (has_seen is None or has_seen(state[0])):
        return state[:2]
    return _of_key(tx, caller, message_id, now)


def _of_key(tx: Tx, caller: Caller, message_id: str, now: int) -> Snapshot:
    return message_rows.snapshot(tx, message_rows.of_key(tx, message_id, caller.key_id, now))


@read_transaction
def current(tx: Tx, ctx: AppContext, message_id: str) -> Snapshot:
    """The message as last committed, for our own machinery."""
    message_rows.prefetch_snapshot(tx, message_id)
    message = message_rows.get(tx, message_id)
    assert message is not None, "a message that was just accepted is there"
    return message_rows.snapshot(tx, message)


@write_transaction
def get_settled(tx: Tx, ctx: AppContext, message_id: str) -> Snapshot:
    """The message after every commit that came before this call (design: The POST window). Read
    under the message's lock, so a turn that says it was delivered in time is seen."""
    message = message_rows.lock(tx, message_id)
    assert message is not None, "a message that was just accepted is there"
    return message_rows.snapshot(tx, message)


@read_transaction
def page(
    tx: Tx,
    ctx: AppContext,
    account_id: str,
    filters: MessageFilter,
    *,
    before: str | None = None,
    since: str = "",
    limit: int = 50,
) -> tuple[list[MessageSummary], str | None]:
    """The account's messages that fit, of whichever key, newest first, their texts cut; and what to
    give as ``before`` for the next page, None at the end. Only ids from ``since`` on."""
    owner, now, columns = ("account_id", account_id), ctx.clock.now(), message_rows.SUMMARY
    rows, more = list_rows.page(
        tx, owner, filters, now, columns, before=before, since=since, limit=limit
    )
    return [message_rows.summary_of(row) for row in rows], more
