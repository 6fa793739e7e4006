"""Following a message: the held read and the event log (spec: getMessage, listMessageEvents).

Both wait the same way: listen, read, wait for a hint, read again. The re-check (`recheck`) makes up
for lost hints: it asks the database about every id that somebody waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agentpost.db import messages as message_rows
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, PollInProgress, Refusal, not_found
from agentpost.domain.limits import EVENTS_PAGE_ENTRIES, EVENTS_WAIT_SECONDS_MIN
from agentpost.domain.records import EntryRecord, Snapshot
from agentpost.domain.times import SECOND, seconds
from agentpost.services import messages
from agentpost.services.context import AppContext
from agentpost.services.messages import Caller
from agentpost.wakeups.base import Wait

HungUp = Callable[[Wait], None]
"""Registers a held wait, to be cancelled when the client hangs up."""


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
    with held(ctx, caller, message_id, hung_up) as wait:
        first = await messages.get(ctx, caller, message_id)
        snapshot = first
        if has_seen is not None and not has_seen(first.message.version):
            return first
        while not snapshot.message.final:
            if snapshot.message.state_version != first.message.state_version:
                break
            left = (until - ctx.clock.passed()) / SECOND
            if left <= 0 or wait.over:
                break
            await wait.wait(left)
            snapshot = await messages.get(ctx, caller, message_id)
    return snapshot


@contextmanager
def held(ctx: AppContext, caller: Caller, message_id: str, hung_up: HungUp) -> Iterator[Wait]:
    """Listen for a message in a call that ends with its client and with its key.

    Raises `KeyEnded` at the end when the key was revoked or expired meanwhile.
    """
    with ctx.wakeups.listen(message_id) as wait, ctx.held_calls.track(caller.key_id, wait):
        hung_up(wait)
        yield wait


# --- the event log --------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Page:
    """A page of the log."""

    entries: list[EntryRecord]
    has_more: bool
    done: bool
    cursor: str
    cursor_expired: bool


async def events(
    ctx: AppContext,
    caller: Caller,
    message_id: str,
    cursor: str | None,
    wait_seconds: int,
    hung_up: HungUp,
) -> Page:
    """The next page of a message's log; an empty one comes after at least a second.

    Raises `Refusal`: ``not_found``, ``bad_cursor``, ``poll_in_progress``, `KeyEnded`.
    """
    snapshot = await messages.get(ctx, caller, message_id)
    oldest = ctx.clock.now() - seconds(ctx.settings.entry_retention_seconds)
    seq, expired = _position(ctx, caller, message_id, cursor, oldest)
    if expired:  # what is still kept of the log is given now, with a fresh cursor
        wait_seconds = 0
    async with ctx.wakeups.reader_lock(message_id) as ours:
        if not ours:
            raise PollInProgress(cursor or _cursor(ctx, caller, message_id, 0))
        wait_seconds = max(wait_seconds, EVENTS_WAIT_SECONDS_MIN)
        began = ctx.clock.passed()
        with held(ctx, caller, message_id, hung_up) as wait:
            while True:
                entries, snapshot = await ctx.db.read(
                    lambda tx: _entries(tx, ctx, caller, message_id, seq)
                )
                # Once it is final nothing more can come: only the least wait is kept.
                wanted = EVENTS_WAIT_SECONDS_MIN if snapshot.message.final else wait_seconds
                left = wanted - (ctx.clock.passed() - began) / SECOND
                if entries or left <= 0 or wait.over:
                    break
                await wait.wait(left)
    shown = entries[:EVENTS_PAGE_ENTRIES]
    has_more = len(entries) > len(shown)
    done = bool(snapshot.message.final) and not has_more
    last = shown[-1].seq if shown else seq
    return Page(shown, has_more, done, _cursor(ctx, caller, message_id, last), expired)


class Recheck:
    """Makes up for lost hints: reads the version of every awaited message in one query.

    Where commits of other processes are visible, it runs only after one of those: commits of this
    process send a hint.
    """

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._seen: dict[str, tuple[int, int]] = {}
        self._external_commits = ctx.db.external_commits

    async def run(self) -> None:
        """Wake the waiters of messages that changed, or may have changed, since the last check."""
        ctx = self._ctx
        commits = ctx.db.external_commits
        if commits is not None and commits == self._external_commits:
            return
        subjects = ctx.wakeups.waited_for()
        if commits is not None:  # else notices tell, and reconnecting does
            for account_id in (i for i in subjects if i.startswith(ids.ACCOUNT)):
                ctx.wakeups.hint(account_id)
        waited_for = [i for i in subjects if i.startswith(ids.MESSAGE)]
        if not waited_for:
            self._seen, self._external_commits = {}, commits
            return
        versions = await ctx.db.read(lambda tx: message_rows.versions(tx, waited_for))
        for message_id, version in versions.items():
            # Looks that are far apart have not seen most of what is waited for now.
            unseen = None if commits is not None else version
            if self._seen.get(message_id, unseen) != version:
                ctx.wakeups.hint(message_id)
        self._seen, self._external_commits = versions, commits  # not before: the look may fail


def _position(
    ctx: AppContext, caller: Caller, message_id: str, cursor: str | None, oldest: int
) -> tuple[int, bool]:
    """(last entry seen, whether the cursor is too old)."""
    if cursor is None:
        return 0, False
    read = ctx.cursors.read(cursor)
    if read is None or read[:2] != (message_id, caller.key_id):
        raise Refusal(ErrorCode.BAD_CURSOR, "This cursor was not issued for this message and key.")
    _, _, seq, given_at = read
    return seq, given_at * SECOND < oldest


def _entries(
    tx: Tx, ctx: AppContext, caller: Caller, message_id: str, seq: int
) -> tuple[list[EntryRecord], Snapshot]:
    """Entries and message of one moment, one entry more than a page."""
    message = message_rows.get_of_key(tx, message_id, caller.key_id, ctx.clock.now())
    if message is None:
        raise not_found("message")
    found = message_rows.entries_after(tx, message_id, seq, EVENTS_PAGE_ENTRIES + 1)
    return found, Snapshot(message, [], [])


def _cursor(ctx: AppContext, caller: Caller, message_id: str, seq: int) -> str:
    return ctx.cursors.make(message_id, caller.key_id, seq, ctx.clock.now() // SECOND)
