"""Reading, stopping and deleting works, and finding files (spec: Work; File)."""

from agentpost.accounts import rows as account_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import not_found
from agentpost.domain.limits import WORK_FILES_MAX
from agentpost.jobs import actions as jobs, rows as job_rows, work_rows
from agentpost.jobs.work_shapes import WorkItemShape, WorkListShape, WorkShape
from agentpost.record.records import FileRecord, WorkRecord
from agentpost.transactions import read_transaction, write_transaction
from agentpost.turns import conversation_rows


@read_transaction
def list_works(
    tx: Tx, ctx: AppContext, account_id: str, limit: int, before: str | None = None
) -> WorkListShape:
    """The account's works older than ``before``, newest first."""
    running = {job.work_id for job in job_rows.executing(tx, account_id)}
    works = work_rows.list_(tx, account_id, limit + 1, before)
    items = [WorkItemShape.of(each, ctx.links, running=each.id in running) for each in works]
    return WorkListShape(data=items[:limit], has_more=len(works) > limit)


async def get(ctx: AppContext, account_id: str, work_id: str, from_char: int = 0) -> WorkShape:
    """A work of the account, with the page of its text that begins there; raises ``not_found``."""
    return await ctx.db.read(lambda tx: _shape(tx, ctx, account_id, work_id, from_char))


@write_transaction
def stop(tx: Tx, ctx: AppContext, account_id: str, work_id: str) -> WorkShape:
    """Stop everything that runs or waits in the work; repeating it changes nothing."""
    now = ctx.clock.now()
    account = account_rows.lock(tx, account_id)
    find(tx, account_id, work_id)
    for job in job_rows.open_in_work(tx, work_id):
        jobs.stop_one(tx, ctx, account, job.id, now)
    return _shape(tx, ctx, account_id, work_id)


@write_transaction
def delete(tx: Tx, ctx: AppContext, account_id: str, work_id: str) -> None:
    """Stop what runs or waits in the work; from then on it and its files answer ``not_found``.

    The bytes go later (see `retention.actions`). A home work's conversation gets a new one when
    its next reply has files. Raises ``not_found``, also when it was deleted before.
    """
    now = ctx.clock.now()
    conversation = conversation_rows.lock(tx, find(tx, account_id, work_id).conversation_id)
    account = account_rows.lock(tx, account_id)
    for job in job_rows.open_in_work(tx, work_id):
        jobs.stop_one(tx, ctx, account, job.id, now)
    if work_rows.lock(tx, work_id, account_id) is None:
        raise not_found("work")
    work_rows.delete(tx, work_id, now)
    if conversation.home_work_id == work_id:
        conversation_rows.set_home(tx, conversation.id, None)


@read_transaction
def get_file(tx: Tx, ctx: AppContext, account_id: str, file_id: str) -> FileRecord:
    """A file of the account by its public id; raises ``not_found``."""
    return find_file(tx, account_id, file_id)


def find_file(tx: Tx, account_id: str | None, file_id: str) -> FileRecord:
    """`get_file`; None: a file of any account, for the holder of a signed link."""
    work_id, _, path = file_id.partition("/")
    file = work_rows.file(tx, work_id, path)
    if file is None or account_id not in (None, file.account_id):
        raise not_found("file")
    return file


def find(tx: Tx, account_id: str, work_id: str) -> WorkRecord:
    """A work of the account; raises ``not_found``."""
    work = work_rows.get(tx, work_id, account_id)
    if work is None:
        raise not_found("work")
    return work


def _shape(tx: Tx, ctx: AppContext, account_id: str, work_id: str, from_char: int = 0) -> WorkShape:
    work = find(tx, account_id, work_id)
    files = work_rows.recent_files(tx, work_id, WORK_FILES_MAX)
    is_running = work_rows.is_running(tx, work_id)
    return WorkShape.of(work, ctx.links, running=is_running, files=files, from_char=from_char)
