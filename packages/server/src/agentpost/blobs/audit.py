"""Rows without bytes or with other ones, and bytes without rows, for the doctor.

Without ``full`` a bounded number of rows is compared: the newest ones and pages from random places.
Bytes are looked for in the record only while both are few, since that needs to know all names. With
``full`` everything is compared, and every blob is read for its checksum: names wait in a temporary
file, pages pass through memory. Bytes younger than an hour are never
reported: a commit that records them may be on its way.
"""

import asyncio
import hashlib
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Final, TypeVar

from agentpost.accounts import rows as accounts
from agentpost.blobs import account_rows, rows as blob_rows
from agentpost.blobs.rows import Cursor, Named
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.storage.base import BlobMissing, Listed

MISSING: Final = "its bytes are not in the file storage"
DAMAGED: Final = "its bytes are not those that were stored"
UNRECORDED: Final = "bytes in the file storage that no record names"
_NEWEST = 100
_RANDOM_PAGES = 2
_RANDOM_PAGE = 50
PAGE = 1_000
FEW = 5_000
"""Up to so many names and so many blobs all are compared, also without ``full``."""
_YOUNG_SECONDS = 3_600
_REPORTED_MAX = 100
_AT_ONCE = 16

T = TypeVar("T")
Problem = tuple[str, str, str]


async def audit(ctx: AppContext, *, full: bool) -> list[Problem]:
    """(what, the key of its bytes or their name, problem), at most `_REPORTED_MAX` of each kind."""
    wrong = [(n.what, n.blob, text) for n, text in await _wrong_bytes(ctx, full=full)]
    stray = [(listed.name, "unrecorded", UNRECORDED) for listed in await _strays(ctx, full=full)]
    return [*wrong[:_REPORTED_MAX], *stray[:_REPORTED_MAX]]


# --- rows without bytes ---------------------------------------------------------------------------
async def _wrong_bytes(ctx: AppContext, *, full: bool) -> list[tuple[Named, str]]:
    """What a row names and the storage does not have, or not as it was stored."""
    wrong: list[tuple[Named, str]] = []
    async for page in _all_named(ctx) if full else _some_named(ctx):
        for n in range(0, len(page), _AT_ONCE):
            part = page[n : n + _AT_ONCE]
            texts = await asyncio.gather(*(_problem(ctx, entry, full) for entry in part))
            wrong += [(entry, text) for entry, text in zip(part, texts, strict=True) if text]
        if len(wrong) > _REPORTED_MAX:
            break

    # A row that went meanwhile took its bytes along.
    return await ctx.db.read(
        lambda tx: [each for each in wrong if blob_rows.still_names(tx, each[0])]
    )


async def _problem(ctx: AppContext, entry: Named, full: bool) -> str:
    """ "" when all is well; ``full``: also read the bytes."""
    try:
        if await ctx.storage.size(entry.blob) != entry.size:
            return DAMAGED
        if full and not entry.fits(await _sha256(ctx, entry.blob)):
            return DAMAGED
    except BlobMissing:
        return MISSING
    return ""


async def _sha256(ctx: AppContext, blob: str) -> str:
    digest = hashlib.sha256()
    async for chunk in ctx.storage.open(blob):
        digest.update(chunk)
    return digest.hexdigest()


async def _some_named(ctx: AppContext) -> AsyncIterator[list[Named]]:
    newest = await ctx.db.read(lambda tx: blob_rows.newest(tx, _NEWEST))
    yield newest
    files = [entry for entry in newest if entry.blob.startswith("files/")]
    for _ in range(_RANDOM_PAGES if len(files) == _NEWEST else 0):
        cursor = (0, (_random_key(files[0].blob),))
        page, _ = await ctx.db.read(partial(blob_rows.page, cursor=cursor, limit=_RANDOM_PAGE))
        yield page


def _random_key(newest: str) -> str:
    """A key of a random time before that one's: keys begin with their time, in hex."""
    prefix, _, tail = newest.rpartition("/")
    latest = int(tail[:14], 16)
    span = min(latest, 90 * 86_400 * 1_000_000)
    back = int.from_bytes(os.urandom(8), "big") % (span + 1)
    return f"{prefix}/{latest - back:014x}{'0' * 18}"


async def _all_named(ctx: AppContext) -> AsyncIterator[list[Named]]:
    cursor: Cursor | None = blob_rows.START
    while cursor is not None:
        page, cursor = await ctx.db.read(partial(blob_rows.page, cursor=cursor, limit=PAGE))
        yield page


# --- bytes without rows ---------------------------------------------------------------------------
class _Names:
    """The names of all bytes the record knows, in a temporary database: SQLite keeps a small one in
    memory and gives a large one a file, which is gone when it is closed."""

    def __init__(self, ctx: AppContext, most: int | None) -> None:
        self._ctx = ctx
        self._most = most
        self._count = 0
        self._file = sqlite3.connect("", isolation_level=None)
        self._file.execute("PRAGMA journal_mode=OFF")
        self._file.execute("PRAGMA synchronous=OFF")
        self._file.execute("CREATE TABLE names (name TEXT PRIMARY KEY) WITHOUT ROWID")

    def close(self) -> None:
        self._file.close()

    async def gather(self) -> bool:
        """Take in every name; False when there are more than allowed. What is to go comes first and
        last: a name that moves to another table meanwhile is met in one of them."""
        if not await self.gather_pending():
            return False
        async for page in _all_named(self._ctx):
            if not self._add([entry.blob for entry in page]):
                return False
        after = ""
        while uploads := await self._ctx.db.read(_page_of(blob_rows.uploads_page, after)):
            copies = [f"uploads/{id_}/{n}" for id_, count in uploads for n in range(1, count + 1)]
            if not self._add(copies):
                return False
            after = uploads[-1][0]
        return await self.gather_pending()

    async def gather_pending(self) -> bool:
        """The same for bytes that are to go."""
        after = ""
        while keys := await self._ctx.db.read(_page_of(blob_rows.pending_deletions_page, after)):
            if not self._add(keys):
                return False
            after = keys[-1]
        return True

    def unknown(self, page: Sequence[Listed]) -> list[Listed]:
        """Those that nothing names and that are old enough to tell."""
        find = "SELECT 1 FROM names WHERE name = ?"
        return [
            listed
            for listed in page
            if listed.age_seconds > _YOUNG_SECONDS
            and self._file.execute(find, (listed.name,)).fetchone() is None
        ]

    def _add(self, keys: Sequence[str]) -> bool:
        params = [(self._ctx.storage.listed_name(key),) for key in keys]
        self._file.execute("BEGIN")
        self._file.executemany("INSERT OR IGNORE INTO names VALUES (?)", params)
        self._file.execute("COMMIT")
        self._count += len(keys)
        return self._most is None or self._count <= self._most


def _page_of(statement: Callable[[Tx, str, int], list[T]], after: str) -> Callable[[Tx], list[T]]:
    return lambda tx: statement(tx, after, PAGE)


async def _strays(ctx: AppContext, *, full: bool) -> list[Listed]:
    with closing(_Names(ctx, None if full else FEW)) as names:
        if not await names.gather():
            return []
        strays: list[Listed] = []
        count = 0
        async for page in ctx.storage.pages():
            strays += names.unknown(page)
            count += len(page)
            if len(strays) > _REPORTED_MAX or (count > FEW and not full):
                break
        if strays:
            await names.gather_pending()  # some may have been let go of since
        return names.unknown(strays)


# --- whether the bytes that count as stored by an account are those of its rows -------------------
# Without ``full`` a few accounts are compared, from a random one on, and of these only such as have
# few rows: the doctor takes no longer the more is stored.
_SAMPLE = 10
ROWS_MAX = 1_000
"""An account with more works, messages or uploads is compared with ``full`` only."""


async def audit_sizes(ctx: AppContext, *, full: bool) -> list[tuple[str, str, str]]:
    """(account, "miscounted", problem) of each account whose number is wrong."""
    found = await ctx.db.read(account_rows.different if full else _of_a_sample)
    return [
        (account_id, "miscounted", _miscount(account_id, *sizes)) for account_id, *sizes in found
    ]


def _miscount(account_id: str, counted: int, kept: int) -> str:
    return (
        f"{counted:,} bytes count as stored, but its rows have {kept:,};"
        f" `agentpost limits recount {account_id}` corrects it"
    )


def _of_a_sample(tx: Tx) -> list[tuple[str, int, int]]:
    ids = [account.id for account in accounts.all_(tx)]
    start = int.from_bytes(os.urandom(8), "big") % max(len(ids), 1)
    found = []
    for account_id in [*ids[start:], *ids[:start]][:_SAMPLE]:
        kept = account_rows.sum_rows(tx, account_id, ROWS_MAX)
        counted = account_rows.used(tx, account_id)
        if kept is not None and kept != counted:
            found.append((account_id, counted, kept))
    return found
