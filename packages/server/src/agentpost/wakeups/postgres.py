"""Wake-ups over all nodes of a PostgreSQL installation.

Hints travel as notices, after the commit of what they hint at. A hold is a row of a table that
is never logged. Advisory locks would have been simpler, but each takes shared memory of the server
that all its databases need: with as many as there may be held reads, the statements of others fail.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import structlog

from agentpost.domain import ids
from agentpost.domain.sqlstates import ends_session
from agentpost.wakeups.base import Transaction, Wakeups
from agentpost.wakeups.notices import PostgresNotices
from agentpost.wakeups.sender import JOINED

if TYPE_CHECKING:
    from psycopg import AsyncConnection

log = structlog.get_logger(__name__)
TEXTS = "text"
JOINING = "joining"
"""Topic of the notice that a process has begun to listen, or stood still and is back."""
_JOINING_SECONDS = 3.0
"""So long after it, the process counts as one that answers callers: its beat may not be seen yet.
"""
_FOR_READERS = (ids.MESSAGE, ids.ACCOUNT)
"""How the ids begin that only calls wait for."""

_CLASS = 7_301_994
"""Our part of the space of advisory locks with two numbers, which is one per database."""
_LIVE = f"SELECT pg_try_advisory_lock({_CLASS}, %s)".encode()
_OWNER_LIVES = (
    "EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2"
    f" AND l.classid = {_CLASS} AND l.objid = reader_locks.owner::oid AND l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
)
_TAKE = (
    "INSERT INTO reader_locks (subject, owner) VALUES (%s, %s) ON CONFLICT (subject)"
    " DO UPDATE SET owner = excluded.owner"
    f" WHERE reader_locks.owner = excluded.owner OR NOT {_OWNER_LIVES}"
).encode()
_GIVE_BACK = b"DELETE FROM reader_locks WHERE subject = %s AND owner = %s"
_CLEAR = f"DELETE FROM reader_locks WHERE NOT {_OWNER_LIVES}".encode()


class PostgresWakeups(Wakeups):
    """Hints, texts and holds that reach the other nodes, too.

    Args:
        url: ``postgresql://…``: where holds are taken.
        notices: carries the hints; started and stopped from here.
    """

    def __init__(self, url: str, notices: PostgresNotices) -> None:
        super().__init__()
        self._reader_locks = _ReaderLocks(url)
        self._notices = notices
        notices.on(JOINED, self._hear)
        notices.on(TEXTS, self._hear_text)
        notices.on(JOINING, self._hear_joining)
        notices.on_reconnect(self._hint_everybody)
        self._joined_until = 0.0
        self._readers_elsewhere: Callable[[], bool] = lambda: True

    def ask_for_readers(self, elsewhere: Callable[[], bool]) -> None:
        self._readers_elsewhere = elsewhere

    def rejoin(self) -> None:
        self._notices.post(JOINING, "")
        self._hint_everybody()

    def publish(self, tx: Transaction, *subjects: str) -> None:
        if self._has_readers_elsewhere():
            self._notices.send(tx, JOINED, " ".join(subjects))
            return
        super().publish(tx, *subjects)
        others = [subject for subject in subjects if not subject.startswith(_FOR_READERS)]
        if others:
            tx.after(partial(self._notices.post, JOINED, " ".join(others)))

    def tell(self, subject: str, text: str) -> None:
        super().tell(subject, text)
        if self._has_readers_elsewhere():
            self._notices.post(TEXTS, f"{subject} {text}")

    @asynccontextmanager
    async def reader_lock(self, subject: str) -> AsyncIterator[bool]:
        async with super().reader_lock(subject) as ours:
            if not ours:
                yield False
                return
            # Shielded: whoever is cancelled while the row is on its way must still delete it.
            taking = asyncio.ensure_future(self._reader_locks.acquire(subject))
            try:
                yield await asyncio.shield(taking)
            finally:
                await asyncio.shield(
                    asyncio.ensure_future(self._reader_locks.give_back(subject, taking))
                )

    async def start(self) -> None:
        await self._notices.start()
        self._notices.post(JOINING, "")

    async def stop(self) -> None:
        await self._notices.stop()
        await self._reader_locks.close()

    def _hear(self, subjects: str) -> None:
        self.hint(*subjects.split())

    def _has_readers_elsewhere(self) -> bool:
        return time.monotonic() < self._joined_until or self._readers_elsewhere()

    def _hear_joining(self, _: str) -> None:
        self._joined_until = time.monotonic() + _JOINING_SECONDS

    def _hear_text(self, payload: str) -> None:
        subject, _, text = payload.partition(" ")
        super().tell(subject, text)

    def _hint_everybody(self) -> None:
        self.hint(*self.waited_for())


class _ReaderLocks:
    """Rows of one session, made when first needed and again when it breaks.

    A row counts as long as the session that wrote it lives: it has an advisory lock on the row's
    owner, one for all its rows, which the server frees when the process is gone, however it went.
    So what a dead process left is taken over by whoever asks next, and cleared away by the next
    session that begins.

    Without the server a hold counts as ours: the rule then holds in this process alone, which is
    better than refusing a reader for an outage.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: AsyncConnection | None = None
        self._owner = 0
        self._connecting = asyncio.Lock()

    async def acquire(self, subject: str) -> bool:
        from psycopg import Error

        try:
            connection = await self._reconnect()
            cursor = await connection.execute(_TAKE, (subject, self._owner))
        except Error as error:
            log.warning("reader_lock_not_shared", error=str(error).strip())
            if ends_session(error):
                await self.close()
            return True
        return cursor.rowcount == 1

    async def give_back(self, subject: str, taking: asyncio.Future[bool]) -> None:
        from psycopg import Error

        if not await taking or self._connection is None or self._connection.closed:
            return
        try:
            await self._connection.execute(_GIVE_BACK, (subject, self._owner))
        except Error as error:  # the session is gone, and what it held with it
            log.info("reader_lock_lost", error=str(error).strip())

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _reconnect(self) -> AsyncConnection:
        async with self._connecting:
            if self._connection is None or self._connection.closed:
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> AsyncConnection:
        from psycopg import AsyncConnection

        connection = await AsyncConnection.connect(
            self._url, autocommit=True, application_name="agentpost reader locks"
        )
        # Nothing of a hold is worth waiting for the disk.
        await connection.execute(b"SET synchronous_commit = off")
        while True:
            owner = secrets.randbits(31)
            cursor = await connection.execute(_LIVE, (owner,))
            if await cursor.fetchone() == (True,):
                break
        await connection.execute(_CLEAR)
        self._owner = owner
        return connection
