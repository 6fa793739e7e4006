"""A page of an account's newest rows that fit a filter, in a time that has a bound, and the owner
of the row at which a client goes on in a list."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentpost.db.session import Row, Tx
from agentpost.domain import ids

SCANNED_MAX: Final = 20_000
"""How many rows a page looks through at most."""
COUNTED_MAX: Final = 10_000
"""How many rows are counted at most."""
OWNED: Final = "account_id || '' = ?"
_RANGE: Final = "{} IN ({}) AND id < ? AND id >= ?"
_SPECIAL: Final = re.compile("[%_!]")
_OWNERS: Final[Mapping[str, str]] = {
    ids.MESSAGE: "SELECT account_id, key_id FROM messages WHERE id = ?",
    ids.SCHEDULE: "SELECT account_id, key_id FROM schedules WHERE id = ?",
    ids.REQUEST: "SELECT account_id, key_id FROM requests WHERE id = ?",
    ids.EVENT: "SELECT account_id, NULL FROM events WHERE id = ?",
    ids.UPLOAD: "SELECT account_id, NULL FROM uploads WHERE id = ?",
    ids.WORK: "SELECT account_id, NULL FROM works WHERE id = ?",
    ids.KEY: "SELECT account_id, NULL FROM keys WHERE id = ?",
    ids.CONVERSATION: "SELECT account_id, NULL FROM conversations WHERE id = ?",
}


def containing(part: str) -> str:
    """The pattern for ``LOWER(column) LIKE ? ESCAPE '!'``: the column has that part."""
    return "%" + _SPECIAL.sub(r"!\g<0>", part.lower()) + "%"


class Conditions:
    """Conditions of a filter, all of which a row fits; None as value: no condition."""

    def __init__(self) -> None:
        self.texts = ["1 = 1"]
        self.params: list[Any] = []

    def equal(self, column: str, value: object | None) -> None:
        """The column is that."""
        self.add(f"{column} = ?", value)

    def require_account(self, account_id: str) -> None:
        """The row is the account's, where another index finds it than that of the account: SQLite
        takes the account's for its order, and would walk the whole account, unless the column
        stands in an expression."""
        self.add(OWNED, account_id)

    def contains(self, column: str, part: str | None) -> None:
        """The column has that part, in small or capital letters."""
        self.contains_any((column,), part)

    def contains_any(self, columns: Sequence[str], part: str | None) -> None:
        """One of the columns has that part, in small or capital letters."""
        pattern = part if part is None else containing(part)
        either = " OR ".join(f"LOWER({column}) LIKE ? ESCAPE '!'" for column in columns)
        self.add(f"({either})", *[pattern] * len(columns))

    def add(self, text: str, *values: object | None) -> None:
        """A condition with its parameters."""
        if None not in values:
            self.texts.append(text)
            self.params.extend(values)


def newest(
    tx: Tx,
    table: str,
    columns: Sequence[str],
    owners: Sequence[str],
    conditions: Conditions,
    *,
    before: str,
    since: str = "",
    limit: int,
    column: str = "account_id",
) -> tuple[list[Row], str | None]:
    """Rows with ``since`` <= id < ``before`` that fit, newest first; their first column is the id.

    At most `SCANNED_MAX` rows are looked at, so that a filter that fits almost nothing stays fast.
    The second value is the id to go on from as the next ``before``; None at the end.

    Args:
        owners: values of ``column``, of which there is an index with the id.
    """
    mine = _RANGE.format(column, ", ".join("?" * len(owners)))
    last = _nth(tx, table, mine, (*owners, before, since), SCANNED_MAX)
    # Read in the order of the index, so that a filter that much fits ends early.
    sql = (
        f"SELECT {', '.join(columns)} FROM {table} WHERE {mine}"
        f" AND {' AND '.join(conditions.texts)} ORDER BY id DESC LIMIT ?"
    )
    rows = tx.all(sql, (*owners, before, last or since, *conditions.params, limit + 1))
    if len(rows) > limit:
        return rows[:limit], rows[limit - 1][0]
    return rows, last


def cut_page(records: Sequence[Any], limit: int) -> tuple[list[Any], str | None]:
    """A page of so many records, of which one more was read to tell whether there are more; the
    second value is as that of `newest`."""
    page = list(records[:limit])
    return page, page[-1].id if len(records) > limit else None


def counts(
    tx: Tx, table: str, columns: Sequence[str], account_id: str, *, before: str, since: str
) -> list[Row]:
    """How often each combination of values of the columns occurs in the rows with ``since`` <= id
    < ``before``: (values..., count).

    Only the newest `COUNTED_MAX` rows are looked at. Needs an index on account_id and id.
    """
    names = ", ".join(columns)
    mine = _RANGE.format("account_id", "?")
    last = _nth(tx, table, mine, (account_id, before, since), COUNTED_MAX)
    sql = f"SELECT {names}, COUNT(*) FROM {table} WHERE {mine} GROUP BY {names}"
    return tx.all(sql, (account_id, before, last or since))


def _nth(tx: Tx, table: str, mine: str, params: tuple[str, ...], count: int) -> str | None:
    """The id of the last of so many rows; None when there are fewer."""
    sql = f"SELECT id FROM {table} WHERE {mine} ORDER BY id DESC LIMIT 1 OFFSET ?"
    row = tx.one(sql, (*params, count - 1))
    return row[0] if row else None


def owner_of(tx: Tx, one: str) -> tuple[str | None, str | None] | None:
    """The account, and the key where a key has such things alone; None for what is not there."""
    prefix = next((prefix for prefix in _OWNERS if ids.is_id(prefix, one)), None)
    if prefix is None:
        return None
    row = tx.one(_OWNERS[prefix], (one,))
    return None if row is None else (row[0], row[1])
