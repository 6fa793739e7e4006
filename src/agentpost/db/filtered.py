"""A page of an account's newest rows that fit a filter, in a time that has a bound."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from agentpost.db.session import Row, Tx

SCANNED_MAX: Final = 20_000
"""How many rows a page looks through at most."""
_LIKE: Final = re.compile("[%_!]")


class Conditions:
    """Conditions of a filter, all of which a row fits; None as value: no condition."""

    def __init__(self) -> None:
        self.texts = ["1 = 1"]
        self.params: list[Any] = []

    def equal(self, column: str, value: object | None) -> None:
        """The column is that."""
        self.add(f"{column} = ?", value)

    def contains(self, column: str, part: str | None) -> None:
        """The column has that part, in small or capital letters."""
        pattern = part if part is None else "%" + _LIKE.sub(r"!\g<0>", part.lower()) + "%"
        self.add(f"LOWER({column}) LIKE ? ESCAPE '!'", pattern)

    def add(self, text: str, *values: object | None) -> None:
        """A condition with its parameters."""
        if None not in values:
            self.texts.append(text)
            self.params.extend(values)


def newest(
    tx: Tx,
    table: str,
    columns: Sequence[str],
    account_id: str,
    wanted: Conditions,
    *,
    before: str,
    since: str = "",
    limit: int,
) -> tuple[list[Row], str | None]:
    """Rows with ``since`` <= id < ``before`` that fit, newest first; their first column is the id.

    At most `SCANNED_MAX` rows are looked at, so that a filter that fits almost nothing stays fast.
    The second value is the id to go on from as the next ``before``; None at the end. Needs an index
    on account_id and id.
    """
    names = ", ".join(columns)
    account = "account_id = ? AND id < ? AND id >= ? ORDER BY id DESC"
    sql = (
        f"SELECT {names} FROM (SELECT * FROM {table} WHERE {account} LIMIT {SCANNED_MAX}) AS looked"
        f" WHERE {' AND '.join(wanted.texts)} ORDER BY id DESC LIMIT ?"
    )
    found = tx.all(sql, (account_id, before, since, *wanted.params, limit))
    if len(found) == limit:
        return found, found[-1][0]
    last = f"SELECT id FROM {table} WHERE {account} LIMIT 1 OFFSET {SCANNED_MAX - 1}"
    row = tx.one(last, (account_id, before, since))
    return found, row[0] if row else None
