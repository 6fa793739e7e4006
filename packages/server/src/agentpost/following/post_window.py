"""The window of a POST: holding the call until its turn ends or the time is over (design: The POST
window)."""

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.times import SECOND, seconds
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import OPEN_TURNS, TurnState
from agentpost.record import reading, writer
from agentpost.record.records import MessageRecord, Snapshot
from agentpost.transactions import write_transaction
from agentpost.turns import actions as turns
from agentpost.wakeups.base import Wait


async def until_turn_ends(ctx: AppContext, message: MessageRecord, wait: Wait) -> Snapshot:
    """Wait for the turn's end, and for the end of its patience while it is not its turn yet.

    A message that is queued is answered for at once, as it stands.

    Both deadlines are stored in the row. This call waits for the remaining time as measured at its
    start, so a clock that is set back does not prolong it.
    """
    clock, settings = ctx.clock, ctx.settings
    now, began = clock.now(), clock.passed()
    window_ends = began + min(message.reply_deadline - now, seconds(settings.turn_reply_seconds))
    turn_wait_deadline = message.turn_wait_deadline
    patience_ends = began + min(turn_wait_deadline - now, seconds(settings.busy_wait_seconds))
    while True:
        waiting = message.turn_state is TurnState.WAITING
        if waiting and message.queue_patience is not None:
            return await reading.get_settled(ctx, message.id)
        until = min(window_ends, patience_ends) if waiting else window_ends
        is_hinted = await wait.wait((until - clock.passed()) / SECOND)
        if wait.over or (not is_hinted and window_ends <= clock.passed()):
            return await _answered_without(ctx, message.id)
        if not is_hinted and waiting and patience_ends <= clock.passed():
            await turns.expire_wait(ctx, message.id, turn_wait_deadline)
        snapshot = wait.newest if is_hinted else None
        if snapshot is None or snapshot.message.version <= message.version:
            read = reading.current if is_hinted else reading.get_settled
            snapshot = await read(ctx, message.id)
        message = snapshot.message
        if message.turn_state not in OPEN_TURNS:
            return snapshot


@write_transaction
def _answered_without(tx: Tx, ctx: AppContext, message_id: str) -> Snapshot:
    """As `reading.get_settled`, for a POST that is answered now: whatever its turn says from here
    on was not in that answer (design: The POST window)."""
    message = message_rows.lock(tx, message_id)
    assert message is not None, "a message that was just accepted is there"
    if message.turn_state in OPEN_TURNS:
        writer.close_window(tx, message, ctx.clock.now())
    return message_rows.snapshot(tx, message)
