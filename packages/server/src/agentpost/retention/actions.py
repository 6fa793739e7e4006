"""Delete what has been kept long enough (spec: Limits; design: How long things stay).

Every function does a bounded piece of work in short transactions and returns where to continue, so
the purge never delays the API. Readers do not wait for it: a message past its retention answers 404
at once, whenever its rows are deleted.
"""

from collections.abc import Callable, Sequence
from functools import partial

import structlog

from agentpost.accounts import rows as accounts
from agentpost.audit import rows as audit_rows
from agentpost.blobs import account_rows, deletion_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids, limits
from agentpost.domain.times import seconds
from agentpost.jobs import actions as jobs, rows as job_rows, work_rows
from agentpost.jobs.rules import OPEN_JOBS
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import OPEN_TURNS
from agentpost.record import writer
from agentpost.record.records import MessageRecord
from agentpost.requests import rows as request_rows
from agentpost.retention import rows as retention_rows
from agentpost.tasks.sweeps import sweep

log = structlog.get_logger(__name__)

PAGE = 500
"""Rows looked at in one go."""
ROWS_PER_TRANSACTION = 500
MESSAGES_PER_SWEEP = 50
_WORKS_PER_SWEEP = 20
FILES_PER_STEP = 50
_ROWS_PER_SWEEP = 5_000


# --- messages -------------------------------------------------------------------------------------
DueCursor = tuple[int, str]


def old_messages(ctx: AppContext) -> str:
    """An id behind those of all messages old enough to be past their retention."""
    retention = seconds(ctx.settings.message_retention_seconds)
    return ids.at(ids.MESSAGE, ctx.clock.now() - retention + 1)


async def messages(ctx: AppContext, after: str = "") -> str | None:
    """Purge messages past their retention. Looks at a page of old messages behind the id ``after``;
    returns where to go on, or None at the end."""
    now, before = ctx.clock.now(), old_messages(ctx)
    page = await ctx.db.read(lambda tx: retention_rows.page(tx, after, before, PAGE))
    count = 0
    for message_id, _, expires_at, _ in page:
        if expires_at <= now:
            await _purge_or_log(ctx, message_id)
            count += 1
            if count == MESSAGES_PER_SWEEP:
                return message_id
    return page[-1][0] if len(page) == PAGE else None


async def messages_with_jobs(ctx: AppContext, after: DueCursor = (0, "")) -> DueCursor | None:
    """Purge messages past their retention that have jobs; as `messages`, by the time they are due.
    Their retention begins with the last job's deadline, so their ids do not say when it ends."""
    now = ctx.clock.now()
    page = await ctx.db.read(
        lambda tx: retention_rows.expired_with_jobs(tx, now, *after, MESSAGES_PER_SWEEP)
    )
    for _, message_id in page:
        await _purge_or_log(ctx, message_id)
    return page[-1] if len(page) == MESSAGES_PER_SWEEP else None


def keyed_messages(ctx: AppContext) -> str:
    """An id behind those of all messages whose hold on an idempotency key is over."""
    return ids.at(ids.MESSAGE, ctx.clock.now() - seconds(ctx.settings.idempotency_seconds) + 1)


async def keys(ctx: AppContext, after: str = "") -> str | None:
    """Free idempotency keys held long enough, of a page behind ``after``; as `messages`. A key is
    freed in the order of the messages' ids: what was looked at once is done."""
    now, hold = ctx.clock.now(), seconds(ctx.settings.idempotency_seconds)
    before = keyed_messages(ctx)
    page = await ctx.db.read(lambda tx: retention_rows.page(tx, after, before, PAGE))
    lapsed = [
        message_id
        for message_id, created_at, expires_at, has_key in page
        if has_key and created_at + hold <= now < expires_at
    ]

    def free(tx: Tx) -> None:
        for message_id in lapsed:
            writer.free_idempotency_key(tx, message_id)

    if lapsed:
        await ctx.db.write(free)
    return page[-1][0] if len(page) == PAGE else None


async def _purge_or_log(ctx: AppContext, message_id: str) -> None:
    """One that fails is met again with the next round; the ones behind it do not wait for it."""
    try:
        await purge_message(ctx, message_id)
    except Exception:
        log.exception("message_not_purged", message_id=message_id)


async def purge_message(ctx: AppContext, message_id: str) -> None:
    """Delete a message past its retention with all that is only its own.

    Files stay with their work, except those that were replaced there; jobs that another message
    lists stay too. A message whose job still runs for another one stays (unseen) as long as that,
    and one whose turn is open until that has ended: a turn has deadlines of its own.
    """
    if not await ctx.db.write(partial(_end_jobs, ctx, message_id)):
        return
    while not await ctx.db.write(partial(_delete_some, ctx, message_id)):
        pass


def _end_jobs(ctx: AppContext, message_id: str, tx: Tx) -> bool:
    """Stop work nobody can ask for any more; False when the message has to stay."""
    now = ctx.clock.now()
    message = message_rows.get(tx, message_id)
    if message is None or not _may_go(message, now):
        return False
    account = accounts.lock(tx, message.account_id)
    for job_id, shared in retention_rows.jobs_of(tx, message_id):
        job = job_rows.get(tx, job_id)
        if job is None or job.state not in OPEN_JOBS:
            continue
        if shared and job.message_id == message_id:
            return False
        if not shared:
            jobs.stop_one(tx, ctx, account, job_id, now)
    return True


def _may_go(message: MessageRecord, now: int) -> bool:
    return message.expires_at <= now and message.turn_state not in OPEN_TURNS


def _delete_some(ctx: AppContext, message_id: str, tx: Tx) -> bool:
    """Delete up to `ROWS_PER_TRANSACTION` rows of a message; True when nothing is left.

    Its jobs are locked first: of two nodes that purge messages with a job in common, the second
    sees what the first has left.
    """
    retention_rows.lock_jobs(tx, message_id)
    message = message_rows.lock(tx, message_id)
    if message is None or not _may_go(message, ctx.clock.now()):
        return True
    left = ROWS_PER_TRANSACTION
    for job_id, shared in retention_rows.jobs_of(tx, message_id):
        if not shared:
            left -= retention_rows.delete_job_parts(tx, job_id, left)
            if left <= 0:
                return False
            retention_rows.delete_job(tx, job_id)
        retention_rows.unlink(tx, message_id, job_id)
    left -= retention_rows.delete_message_parts(tx, message_id, left)
    if left > 0:
        left -= request_rows.forget_bodies(tx, message_id, left)
    if left > 0:
        left -= retention_rows.unlist_files(tx, message_id, left)
        work_rows.release_unlisted_files(tx, ctx.clock.now(), message_id)
    if left > 0:
        left -= _release(tx, ctx, retention_rows.detach_attachments(tx, message_id, left))
    if left <= 0:
        return False
    retention_rows.delete_message(tx, message_id)
    return True


# --- log entries ----------------------------------------------------------------------------------
LogCursor = tuple[str, int]


def old_entries(ctx: AppContext) -> str:
    """An id behind those of all messages that may have log entries kept long enough."""
    keep = seconds(ctx.settings.entry_retention_seconds)  # an entry is younger than its message
    return ids.at(ids.MESSAGE, ctx.clock.now() - keep + 1)


async def entries(ctx: AppContext, after: LogCursor = ("", 0)) -> LogCursor | None:
    """Delete log entries kept long enough, of a page behind ``after``; as `messages`."""
    oldest = ctx.clock.now() - seconds(ctx.settings.entry_retention_seconds)
    before = old_entries(ctx)
    page = await ctx.db.read(lambda tx: retention_rows.entries_page(tx, *after, before, PAGE))
    due = {message_id: seq for message_id, seq, at in page if at <= oldest}

    def delete(tx: Tx) -> None:
        for message_id, seq in due.items():
            retention_rows.delete_entries(tx, message_id, seq)

    if due:
        await ctx.db.write(delete)
    return (page[-1][0], page[-1][1]) if len(page) == PAGE else None


# --- the rest -------------------------------------------------------------------------------------
async def deleted_works(ctx: AppContext) -> None:
    """Delete files and rows of works that clients have deleted."""

    def find(tx: Tx, _: int, limit: int) -> list[str]:
        return retention_rows.deleted_works(tx, limit)

    async def delete(work_id: str) -> None:
        await ctx.db.write(partial(_delete_from_work, ctx, work_id))

    await sweep(ctx, "deleted_works", find, delete, chunk=_WORKS_PER_SWEEP)


async def delete_work(ctx: AppContext, work_id: str) -> None:
    """Delete the files and the row of a work that was deleted."""
    while await ctx.db.write(partial(_delete_from_work, ctx, work_id)):
        pass


def _delete_from_work(ctx: AppContext, work_id: str, tx: Tx) -> bool:
    """Whether there may be more."""
    files = retention_rows.detach_files(tx, work_id, FILES_PER_STEP)
    if len(files) < FILES_PER_STEP:
        retention_rows.delete_work(tx, work_id)
    _release(tx, ctx, files)
    return len(files) == FILES_PER_STEP


def _release(tx: Tx, ctx: AppContext, files: Sequence[retention_rows.DeletedFile]) -> int:
    """The bytes of rows that go in this commit go after it, and count no longer; how many rows."""
    stored = [(file.blob, file) for file in files if file.blob is not None]
    deletion_rows.schedule_delete(tx, [blob for blob, _ in stored], ctx.clock.now())
    account_rows.subtract(tx, [(file.account_id, file.size) for _, file in stored])
    return len(files)


async def rest(ctx: AppContext) -> None:
    """Delete old lines of the request log and the audit log, mails, events of no message, and
    sessions."""
    settings, now = ctx.settings, ctx.clock.now()
    for prefix, kept_seconds, delete in (
        (ids.REQUEST, settings.request_log_seconds, retention_rows.delete_requests),
        (ids.MAIL, limits.MAIL_KEPT_SECONDS, retention_rows.delete_mails),
        (ids.EVENT, settings.message_retention_seconds, retention_rows.delete_loose_events),
        (ids.ACTION, settings.operator_log_seconds, audit_rows.delete_old),
    ):
        before = ids.at(prefix, now - seconds(kept_seconds) + 1)
        await _in_chunks(ctx, delete, before)
    ended = now - seconds(limits.SIGNED_IN_KNOWN_SECONDS)
    await _in_chunks(ctx, retention_rows.delete_sessions, now, ended)


async def _in_chunks(ctx: AppContext, delete: Callable[..., int], *values: int | str) -> None:
    """At most `_ROWS_PER_SWEEP` of them, in short transactions."""
    for _ in range(_ROWS_PER_SWEEP // ROWS_PER_TRANSACTION):
        deleted = await ctx.db.write(lambda tx: delete(tx, *values, ROWS_PER_TRANSACTION))
        if deleted < ROWS_PER_TRANSACTION:
            return
