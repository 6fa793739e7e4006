"""Following a message: the held read and the event log (spec: getMessage, listMessageEvents).

Both wait the same way: listen, read, wait for a hint, read again. The re-check (`Recheck`) makes up
for lost hints: it asks the database about every id that somebody waits for.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, PollInProgress, Refusal
from agentpost.domain.limits import (
    EVENTS_PAGE_ENTRIES,
    EVENTS_WAIT_SECONDS_MIN,
    STREAM_KEEP_ALIVE_SECONDS,
)
from agentpost.domain.times import SECOND, seconds
from agentpost.following.held_calls import HungUp
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import OPEN_TURNS, TurnState
from agentpost.record import reading, writer
from agentpost.record.records import EntryRecord, MessageRecord, Snapshot
from agentpost.transactions import write_transaction
from agentpost.turns import actions as turns
from agentpost.wakeups.base import Wait

_UNSEEN = -1
"""A version that no message has."""


async def until_changed(
    ctx: AppContext,
    caller: Caller,
    message_id: str,
    wait_seconds: int,
    has_seen: Callable[[int], bool] | None,
    hung_up: HungUp,
) -> Snapshot:
    """The message, held until its status, reply or a job's status changes, or it is final.

    ``has_seen``: whether the client has a version already; when it does not have the present one,
    whatever that changed, it is answered at once. From then on progress alone answers nobody.
    Raises ``not_found`` and `KeyEnded`.
    """
    until = ctx.clock.passed() + seconds(wait_seconds)
    with ctx.held_calls.hold(caller.holds, message_id, hung_up) as wait:
        state = await reading.get_once_settled(ctx, caller, message_id, has_seen)
        if isinstance(state, Snapshot):
            return state
        version, state_version = state
        while (left := (until - ctx.clock.passed()) / SECOND) > 0 and not wait.over:
            if not await wait.wait(left):
                continue
            snapshot = _from_handover(ctx, wait, version)
            snapshot = snapshot or await reading.get(ctx, caller, message_id)
            if snapshot.message.final or snapshot.message.state_version != state_version:
                return snapshot
            version = snapshot.message.version
            del snapshot  # a quarter of what a held call takes; it is not looked at again
        return await reading.get(ctx, caller, message_id)


def _from_handover(ctx: AppContext, wait: Wait, version: int) -> Snapshot | None:
    """What a commit of this process made of a message since that version. None: nothing known, or
    another process may have made more of it: then the message has to be read."""
    if ctx.db.external_commits is None:
        return None
    newest = wait.newest
    if newest is None or newest.message.version <= version:
        return None
    return newest if newest.message.expires_at > ctx.clock.now() else None


# --- the event log --------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Page:
    """A page of the log."""

    entries: Sequence[EntryRecord] = ()
    has_more: bool = False
    done: bool = False
    cursor: str = ""
    cursor_expired: bool = False
    deltas: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """A message's log as one key reads it."""

    ctx: AppContext
    caller: Caller
    message_id: str

    async def events(self, cursor: str | None, wait_seconds: int, hung_up: HungUp) -> Page:
        """The next page; an empty one comes after at least a second. Raises `Refusal`:
        ``not_found``, ``bad_cursor``, ``poll_in_progress``, `KeyEnded`."""
        ctx = self.ctx
        _, seq, expired = await self._position(cursor)
        if expired:  # what is still kept of the log is given now, with a fresh cursor
            wait_seconds = 0
        async with ctx.wakeups.reader_lock(self.message_id) as ours:
            if not ours:
                raise PollInProgress(cursor or self.cursor_at(0))
            wait_seconds = max(wait_seconds, EVENTS_WAIT_SECONDS_MIN)
            began = ctx.clock.passed()
            with ctx.held_calls.hold(self.caller.holds, self.message_id, hung_up) as wait:
                while True:
                    page = await self._page(seq)
                    # Once it is final nothing more can come: only the least wait is kept.
                    hold_seconds = EVENTS_WAIT_SECONDS_MIN if page.done else wait_seconds
                    left = hold_seconds - (ctx.clock.passed() - began) / SECOND
                    if page.entries or left <= 0 or wait.over:
                        break
                    await wait.wait(left)
        last = page.entries[-1].seq if page.entries else seq
        return replace(page, cursor=self.cursor_at(last), cursor_expired=expired)

    async def begin_stream(self, cursor: str | None) -> tuple[int, bool, bool]:
        """After which entry a stream begins; whether the cursor is too old, so that entries may be
        missing; and whether the stream continues, and text told meanwhile is lost. Raises
        ``not_found``, ``bad_cursor``."""
        snapshot, seq, expired = await self._position(cursor)
        return seq, expired, cursor is not None and not snapshot.message.final

    async def follow(self, seq: int, hung_up: HungUp) -> AsyncGenerator[Page]:
        """Pages as their entries come, the last one ``done``; an empty one when none came for a
        while. Pages without entries may have ``deltas``, which are JSON as `runtime.deltas` writes
        it.

        Several may follow one message. Ends before that when the client hangs up and when the
        server stops. Raises `KeyEnded`, and ``not_found`` once the message is gone.
        """
        is_hinted, hold = True, self.ctx.held_calls.hold
        with hold(self.caller.holds, self.message_id, hung_up, texts=True) as wait:
            while not wait.over:
                if deltas := wait.texts():  # they were told before the entries that are read now
                    yield Page(deltas=deltas)
                if is_hinted:
                    async with self.ctx.streams.reading(self.caller.account_id):
                        page = await self._page(seq)
                    seq = page.entries[-1].seq if page.entries else seq
                    if page.entries or page.done:
                        yield page
                    if page.done:
                        return
                    if page.has_more:
                        continue
                is_hinted = await wait.wait(STREAM_KEEP_ALIVE_SECONDS)
                if not is_hinted and not wait.over and not wait.has_texts:
                    yield Page()

    def cursor_at(self, seq: int) -> str:
        """The cursor of the place after an entry."""
        ctx = self.ctx
        now = ctx.clock.now() // SECOND
        return ctx.cursors.make(self.message_id, self.caller.key_id, seq, now)

    async def _page(self, seq: int) -> Page:
        """What the log has after an entry; without a cursor."""

        def look(tx: Tx) -> tuple[MessageRecord, list[EntryRecord]]:
            now, key_id = self.ctx.clock.now(), self.caller.key_id
            message = message_rows.of_key(tx, self.message_id, key_id, now)
            limit = EVENTS_PAGE_ENTRIES + 1
            return message, message_rows.entries_after(tx, self.message_id, seq, limit)

        message, entries = await self.ctx.db.read(look)
        has_more = len(entries) > EVENTS_PAGE_ENTRIES
        is_done = bool(message.final) and not has_more
        return Page(entries[:EVENTS_PAGE_ENTRIES], has_more, is_done)

    async def _position(self, cursor: str | None) -> tuple[Snapshot, int, bool]:
        """The message, the last entry that was seen, and whether the cursor is too old."""
        ctx = self.ctx
        snapshot = await reading.get(ctx, self.caller, self.message_id)
        if cursor is None:
            return snapshot, 0, False
        read = ctx.cursors.read(cursor)
        if read is None or read[:2] != (self.message_id, self.caller.key_id):
            text = "This cursor was not issued for this message and key."
            raise Refusal(ErrorCode.BAD_CURSOR, text)
        _, _, seq, given_at = read
        oldest = ctx.clock.now() - seconds(ctx.settings.entry_retention_seconds)
        return snapshot, seq, given_at * SECOND < oldest


class Recheck:
    """Makes up for lost hints: asks which of the awaited messages have another version than the
    last look has seen.

    Where commits of other processes are visible, it runs only after one of those: commits of this
    process send a hint.
    """

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._seen: dict[str, int] = {}
        self._external_commits = ctx.db.external_commits

    async def run(self) -> None:
        """Wake the waiters of messages that changed, or may have changed, since the last check."""
        ctx = self._ctx
        commits = ctx.db.external_commits
        if commits is not None and commits == self._external_commits:
            return
        known, subjects = self._seen, ctx.wakeups.waited_for()
        look = partial(_find_changes, subjects=subjects, known=known)
        accounts, changed, seen = await ctx.db.read(look) if subjects else ([], [], {})
        if commits is not None:  # else notices tell, and reconnecting does
            ctx.wakeups.hint(*accounts)
        for message_id in changed:
            # Looks that are far apart have not seen most of what is waited for now.
            if commits is not None or message_id in known:
                ctx.handover.give(message_id, None)
                ctx.wakeups.hint(message_id)
        self._seen, self._external_commits = seen, commits  # not before: the look may fail


def _find_changes(
    tx: Tx, subjects: list[str], known: Mapping[str, int]
) -> tuple[list[str], list[str], dict[str, int]]:
    """The accounts, the messages with another version than was seen, and all versions now. On the
    database's thread: there may be thousands of them."""
    accounts = [i for i in subjects if i.startswith(ids.ACCOUNT)]
    versions = {i: known.get(i, _UNSEEN) for i in subjects if i.startswith(ids.MESSAGE)}
    new_versions = message_rows.other_versions(tx, versions)
    return accounts, list(new_versions), versions | new_versions


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
