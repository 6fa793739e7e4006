"""Files of works, stored as a job stores them."""

import hashlib

from agentpost.blobs import account_rows, actions as blobs
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.ids import compose
from agentpost.jobs import work_rows
from tests.harness.context import work_record

_INSERT = (
    "INSERT INTO files (work_id, path, account_id, name, content_type, kind, size, revision,"
    " created_at, replaced, blob) VALUES (?, ?, ?, ?, 'text/plain', 'other', ?, ?, 1, 0, ?)"
)


async def put_file(ctx: AppContext, account: str, name: str, data: bytes) -> str:
    """A file in a work of the account, made for it; the key of its bytes."""
    digest = hashlib.sha256(name.encode() + data)
    blob = compose("files/", ctx.clock.now(), digest.digest()[:9])
    work_id = f"wrk_{digest.hexdigest()[:30]}"
    info = await blobs.store(ctx, blob, data)
    revision = f'"{info.sha256[:32]}"'

    def fn(tx: Tx) -> None:
        work_rows.WORKS.insert(tx, work_record(account, 1, id=work_id))
        tx.execute(_INSERT, (work_id, name, account, name, len(data), revision, blob))
        assert account_rows.add(tx, account, len(data), 10**12)
        tx.execute("DELETE FROM pending_deletions WHERE blob = ?", (blob,))

    await ctx.db.write(fn)
    return blob
