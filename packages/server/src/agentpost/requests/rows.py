"""The request inspector's rows: what was asked of the API and what it answered."""

from collections.abc import Sequence

from agentpost.db import as_json
from agentpost.db.filtered import Conditions, containing, counts, newest
from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import Change
from agentpost.domain import ids
from agentpost.record.records import RequestRecord
from agentpost.requests.filter_rules import RequestFilter

REQUESTS = Mapper(RequestRecord, "requests", "ON CONFLICT DO NOTHING")
_LINE_COLUMNS = REQUESTS.columns[: REQUESTS.columns.index("request_body")]
"""What a list shows: the columns before the bodies, which may be long."""
_BEGINNING = "SUBSTR(response_body, 1, 500)"
"""Where the id of a message stands in the answer that shows it."""
_END = "(at + 1000 * ms)"
"""When a request ended, in microseconds."""
_GONE = (
    "SELECT about.key FROM json_each(?) AS about WHERE"
    " COALESCE((SELECT m.expires_at FROM messages m WHERE m.id = about.key), 0) <= ?"
)


def deleted_messages(tx: Tx, records: Sequence[RequestRecord], now: int) -> set[str]:
    """The messages of these lines that are past their retention, or deleted."""
    about = {record.message_id for record in records if record.message_id is not None}
    return {row[0] for row in tx.all(_GONE, (as_json.names(about), now))} if about else set()


# Take the bodies from lines about a message; from how many, ``limit`` if there are more.
forget_bodies = Change[str, int](
    "UPDATE requests SET request_body = NULL, response_body = NULL WHERE id IN"
    " (SELECT id FROM requests WHERE message_id = ?"
    " AND (request_body IS NOT NULL OR response_body IS NOT NULL) LIMIT ?)"
)


def of_account(
    tx: Tx, account_id: str, filters: RequestFilter, *, before: str, limit: int
) -> tuple[list[RequestRecord], str | None]:
    """An account's requests older than the id ``before``, newest first, without their bodies. The
    second value: see `filtered.newest`."""
    fits = _fitting(filters)
    owners: tuple[str, ...] = (account_id,)
    column = "account_id"
    if filters.id is not None:
        fits.require_account(account_id)
        owners, column = (filters.id,), "id"
    elif filters.messages is not None and filters.path is None:
        if not filters.messages:
            return [], None
        fits.require_account(account_id)
        owners, column = filters.messages, "message_id"
    rows, more = newest(
        tx,
        REQUESTS.table,
        _LINE_COLUMNS,
        owners,
        fits,
        before=before,
        since=filters.since or "",
        limit=limit,
        column=column,
    )
    return [REQUESTS.of(row) for row in rows], more


def ended_between(
    tx: Tx,
    account_id: str,
    filters: RequestFilter,
    *,
    after: int,
    until: int,
    longest: int,
    limit: int,
) -> list[RequestRecord]:
    """An account's requests that ended after ``after`` and not after ``until``, in the order in
    which they ended, without their bodies; of those that took up to ``longest``. All times in
    microseconds.

    One that ended in the very moment of the last one is there too, or neither is: whoever
    continues behind the last one misses none.
    """
    fits = _fitting(filters)
    fits.add(f"{_END} > ?", after)
    fits.add(f"{_END} <= ?", until)
    sql = (
        f"SELECT {', '.join(_LINE_COLUMNS)} FROM requests WHERE account_id = ? AND id >= ?"
        f" AND id < ? AND {' AND '.join(fits.texts)} ORDER BY {_END}, id LIMIT ?"
    )
    first, last = ids.at(ids.REQUEST, after - longest), ids.at(ids.REQUEST, until + 1)
    rows = tx.all(sql, (account_id, first, last, *fits.params, limit + 1))
    records = [REQUESTS.of(row) for row in rows]
    if len(records) <= limit:
        return records
    return [each for each in records if ended_at(each) < ended_at(records[-1])] or records


def ended_at(request: RequestRecord) -> int:
    """When it was answered, in microseconds."""
    return request.at + 1_000 * request.ms


def first_after(tx: Tx, account_id: str, at: int) -> int | None:
    """When the account's first request came that came at that time or later, in microseconds."""
    sql = "SELECT at FROM requests WHERE account_id = ? AND id >= ? ORDER BY id LIMIT 1"
    row = tx.one(sql, (account_id, ids.at(ids.REQUEST, at)))
    return int(row[0]) if row else None


def _fitting(filters: RequestFilter) -> Conditions:
    fits = Conditions()
    fits.equal("key_id", filters.key_id)
    fits.equal("method", filters.method)
    fits.equal("error", filters.error)
    fits.add("status BETWEEN ? AND ?", *(filters.status or (None,)))
    if filters.messages and filters.path is not None:
        marks = ", ".join("?" * len(filters.messages))
        either = f"(LOWER(path) LIKE ? ESCAPE '!' OR message_id IN ({marks}))"
        fits.add(either, containing(filters.path), *filters.messages)
    else:
        fits.contains("path", filters.path)
    fits.contains_any(("path", "message_id", _BEGINNING), filters.about)
    if filters.not_reading:
        fits.add("NOT (method = 'GET' AND path LIKE ?)", "/v1/requests%")
    return fits


def errors(tx: Tx, account_id: str, since: str) -> dict[str | None, int]:
    """How many of an account's requests with an id from ``since`` on ended with each error code,
    or with none; see `filtered.counts`."""
    before = ids.last(ids.REQUEST)
    return dict(counts(tx, REQUESTS.table, ("error",), account_id, before=before, since=since))


def get(tx: Tx, account_id: str, request_id: str) -> RequestRecord | None:
    """One request of an account."""
    sql = f"{REQUESTS.select} WHERE id = ? AND account_id = ?"
    return REQUESTS.one(tx, sql, (request_id, account_id))
