"""Deleting an account with all that is of it (design: Deleting an account).

The first transaction refuses everything of the account; the rest goes in short ones, which anybody
may continue at any time: the command that began, another one, or a server's task. What is stopped,
and how messages and works go, is what `messages.lists` and `retention.actions` do anyway.
"""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from agentpost.account_data import deletion_rows
from agentpost.accounts import rows as account_rows
from agentpost.blobs import actions as blobs, deletion_rows as pending_deletions
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.domain.times import SECOND
from agentpost.jobs import works
from agentpost.messages import lists
from agentpost.record.records import AccountRecord
from agentpost.retention import actions as retention
from agentpost.sessions import rows as session_rows
from agentpost.transactions import read_transaction
from agentpost.uploads import actions as uploads
from agentpost.users import rows as user_rows
from agentpost.users.actions import LAST_OPERATOR
from agentpost.users.role_rules import Role
from agentpost.webhooks import endpoint_rows, endpoints as endpoint_uses

log = structlog.get_logger(__name__)

LAST_SECONDS: Final = 5
"""From the mark until the account's row goes: by then, what was let in before has come."""
_MESSAGES: Final = 20
_WORKS: Final = 20
_UPLOADS: Final = 50
_ROWS: Final = 500
_ACCOUNTS: Final = 5
_ROUNDS_PER_SWEEP: Final = 20
_PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class DeletionPreview:
    """An account that may be deleted; ``counts``: how much of what goes with it."""

    account: AccountRecord
    counts: dict[str, int]


@read_transaction
def look(tx: Tx, ctx: AppContext, id_or_email: str) -> DeletionPreview:
    """What would go. Raises ``not_found``, and ``bad_request`` when the server's only operator is
    of this account."""
    account = _deletable(tx, id_or_email)
    return DeletionPreview(account, deletion_rows.counts(tx, account.id))


async def begin(ctx: AppContext, id_or_email: str) -> AccountRecord:
    """Refuse everything of the account within a second: keys, sessions, schedules; its webhooks
    that wait are not sent. From here on it goes, whoever continues. Raises as `look`."""

    def fn(tx: Tx) -> AccountRecord:
        account, now = account_rows.lock(tx, _deletable(tx, id_or_email).id), ctx.clock.now()
        deletion_rows.mark(tx, account.id, now)
        session_rows.delete_all(tx, None, account.id, now)
        return account

    account = await ctx.db.write(fn)
    for endpoint in await ctx.db.read(lambda tx: endpoint_rows.list_(tx, account.id)):
        try:
            change = endpoint_uses.EndpointChange(enabled=False)
            await endpoint_uses.change(ctx, account.id, endpoint.id, change)
        except Refusal:
            continue  # somebody else has just deleted it
    log.info("account_deletion_began", account_id=account.id)
    return account


async def step(ctx: AppContext, account_id: str) -> bool:
    """Delete the next piece, in short transactions; True when nothing is left."""
    message_ids = await ctx.db.read(lambda tx: deletion_rows.messages(tx, account_id, _MESSAGES))
    for message_id in message_ids:
        await _stop(ctx, account_id, message_id)
    for message_id in message_ids:
        await retention.purge_message(ctx, message_id)
    if message_ids:
        return False
    if await _some_works(ctx, account_id):
        return False
    left = await ctx.db.read(lambda tx: deletion_rows.uploads(tx, account_id, _UPLOADS))
    for upload in left:
        await ctx.db.write(partial(uploads.forget, ctx, upload))
    if left:
        return False
    for delete in (_delete_events, deletion_rows.delete_rest):
        if await ctx.db.write(partial(delete, account_id=account_id, limit=_ROWS)) >= _ROWS:
            return False
    if not await ctx.db.write(partial(_finish, ctx, account_id)):
        return False
    log.info("account_deleted", account_id=account_id)
    return True


async def finish(ctx: AppContext, account_id: str) -> int:
    """Delete all that is left of an account that `begin` marked, and its bytes; how many blobs
    could not be deleted yet, such as during a backup: a server goes on with these."""
    is_done = False
    while not is_done:
        is_done = await step(ctx, account_id)
        await asyncio.sleep(_PAUSE_SECONDS)  # others write meanwhile
    left = await ctx.db.read(lambda tx: pending_deletions.count_due(tx, ctx.clock.now()))
    while left:
        await blobs.sweep(ctx)
        before = left
        left = await ctx.db.read(lambda tx: pending_deletions.count_due(tx, ctx.clock.now()))
        if left >= before:
            break
    return left


async def sweep(ctx: AppContext) -> None:
    """Go on with every account that is being deleted, a bounded piece of each."""
    for account in await ctx.resting.due(
        "deletions", lambda tx, _: deletion_rows.list_deleting(tx, _ACCOUNTS)
    ):
        for _ in range(_ROUNDS_PER_SWEEP):
            try:
                is_done = await step(ctx, account.id)
            except Exception:
                log.exception("account_not_deleted", account_id=account.id)
                break
            if is_done or _is_early(ctx, account):
                break


def _deletable(tx: Tx, id_or_email: str) -> AccountRecord:
    account = account_rows.find_existing(tx, id_or_email)
    own = sum(user.role is Role.OPERATOR for user in user_rows.leaders(tx, account.id, 1_000))
    if own and own == user_rows.operators(tx):
        raise Refusal(ErrorCode.BAD_REQUEST, LAST_OPERATOR)
    return account


async def _stop(ctx: AppContext, account_id: str, message_id: str) -> None:
    """End its turn and jobs, and its time: `retention.purge_message` may take it then."""
    try:
        await lists.end_for_good(ctx, account_id, message_id)
    except Refusal:
        return  # somebody else has just deleted it


async def _some_works(ctx: AppContext, account_id: str) -> bool:
    """Delete a piece of some works; whether there were any."""
    page = await ctx.db.read(lambda tx: deletion_rows.works(tx, account_id, _WORKS))
    for work_id, deleted_at in page:
        if deleted_at is None:
            try:
                await works.delete(ctx, account_id, work_id)
            except Refusal:
                continue  # somebody else has just deleted it
        while (
            await ctx.db.write(partial(deletion_rows.delete_jobs, work_id=work_id, limit=_ROWS))
            >= _ROWS
        ):
            pass
        await retention.delete_work(ctx, work_id)
    return bool(page)


def _delete_events(tx: Tx, account_id: str, limit: int) -> int:
    endpoint_ids = [each.id for each in endpoint_rows.list_(tx, account_id)]
    return deletion_rows.delete_events(tx, account_id, endpoint_ids, limit)


def _finish(ctx: AppContext, account_id: str, tx: Tx) -> bool:
    """Delete the account itself; False while something of it is left, or may still come."""
    account = account_rows.find(tx, account_id)
    if account is None:
        return True
    account_rows.lock(tx, account_id)
    if _is_early(ctx, account):
        return False
    some = deletion_rows.messages(tx, account_id, 1), deletion_rows.works(tx, account_id, 1)
    if any(some) or deletion_rows.uploads(tx, account_id, 1):
        return False
    deletion_rows.delete_account(tx, account_id)
    return True


def _is_early(ctx: AppContext, account: AccountRecord) -> bool:
    return ctx.clock.now() - (account.deleted_at or 0) < LAST_SECONDS * SECOND
