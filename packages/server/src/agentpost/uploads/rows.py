"""Uploads of an account. Every change names the state it starts from and says whether it held."""

from collections.abc import Sequence

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx, scalar
from agentpost.db.statements import All, Change, ChangeOf, First, Save, Whether
from agentpost.record.records import UploadRecord
from agentpost.uploads.rules import UploadSignal, UploadStatus, upload

UPLOADS = Mapper(UploadRecord, "uploads")
_PENDING = (
    "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM uploads"
    " WHERE account_id = ? AND status = 'pending'"
)


# The account's upload; another account's is as good as none.
get = First[UploadRecord, str, str](UPLOADS, "WHERE id = ? AND account_id = ?")
# Whether the message was sent by that key.
is_of_key = Whether[str | None, str]("SELECT 1 FROM messages WHERE id = ? AND key_id = ?")


def page(
    tx: Tx,
    account_id: str,
    after: str,
    now: int,
    limit: int,
    *,
    oldest_first: bool,
    key_id: str,
) -> list[UploadRecord]:
    """The account's uploads behind that id, "" for the first ones: those that are ready or belong
    to a message, of that key only; "": of any."""
    order, behind = ("ASC", ">") if oldest_first else ("DESC", "<")
    where = f"id {behind} ?" if after else "id <> ?"
    sql = (
        f"{UPLOADS.select} WHERE account_id = ? AND {where}"
        " AND ((status = 'attached' AND (? = '' OR EXISTS (SELECT 1 FROM messages m"
        " WHERE m.id = uploads.message_id AND m.key_id = ?)))"
        " OR (status = 'ready' AND keep_by > ?))"
        f" ORDER BY id {order} LIMIT ?"
    )
    return UPLOADS.all(tx, sql, (account_id, after, key_id, key_id, now, limit))


def pending(tx: Tx, account_id: str) -> tuple[int, int]:
    """How many of the account's uploads are not complete, and the bytes they announced."""
    row = tx.one(_PENDING, (account_id,))
    assert row is not None
    return int(row[0]), int(row[1])


def lock(tx: Tx, upload_ids: Sequence[str], account_id: str) -> dict[str, UploadRecord]:
    """Those of the uploads that the account has, held until the commit; in one order always."""
    marks = ", ".join("?" * len(upload_ids))
    sql = f"{UPLOADS.select} WHERE id IN ({marks}) AND account_id = ? ORDER BY id /*for update*/"
    return {record.id: record for record in UPLOADS.all(tx, sql, (*upload_ids, account_id))}


def count_copy(tx: Tx, upload_id: str) -> int | None:
    """The number of a new private copy; None when the upload is no longer pending."""
    sql = "UPDATE uploads SET copies = copies + 1 WHERE id = ? AND status = ?"
    if tx.execute(sql, (upload_id, UploadStatus.PENDING.value)) == 0:
        return None
    return int(scalar(tx, "SELECT copies FROM uploads WHERE id = ?", (upload_id,)))


def move(tx: Tx, upload_id: str, before: UploadStatus, signal: UploadSignal) -> bool:
    """Change the status as the signal does; False when it is no longer what it was."""
    after = upload(before, signal)
    assert after is not None, "`delete` does that"
    sql = "UPDATE uploads SET status = ? WHERE id = ? AND status = ?"
    return tx.execute(sql, (after.value, upload_id, before.value)) == 1


# The facts found when it became ready.
save_contents = Save(UPLOADS, "blob", "size", "kind", "revision", "sniffed_type")
# Which message took it.
save_message = ChangeOf[str, str]("UPDATE uploads SET message_id = ? WHERE id = ?")
# Uploads whose time was over by then and that were not cleaned up yet.
due = All[UploadRecord, int, int](
    UPLOADS, "WHERE swept = 0 AND keep_by < ? ORDER BY keep_by LIMIT ?"
)
# Its leftovers are gone; the row stays.
set_swept = Change[str]("UPDATE uploads SET swept = 1 WHERE id = ?")


def delete(tx: Tx, upload_id: str, status: UploadStatus) -> bool:
    """False when the status is no longer that."""
    sql = "DELETE FROM uploads WHERE id = ? AND status = ?"
    return tx.execute(sql, (upload_id, status.value)) == 1
