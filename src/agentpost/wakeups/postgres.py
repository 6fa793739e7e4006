"""Wake-ups over all nodes of a PostgreSQL installation.

Hints travel as notices in the transaction that changes something; what happens with them inside a
process is `MemoryWakeups`' work. A hold is a session-level advisory lock: the server lets go of it
when the process that took it is gone, however it went.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from agentpost.wakeups.base import Transaction
from agentpost.wakeups.memory import MemoryWait, MemoryWakeups
from agentpost.wakeups.notices import PostgresNotices

if TYPE_CHECKING:
    from psycopg import AsyncConnection

log = structlog.get_logger(__name__)
TOPIC = "wake"


class PostgresWakeups:
    """See `Wakeups`.

    Args:
        url: ``postgresql://…``: where holds are taken.
        notices: carries the hints; started and stopped from here.
    """

    def __init__(self, url: str, notices: PostgresNotices) -> None:
        self._local = MemoryWakeups()
        self._locks = _AdvisoryLocks(url)
        self._notices = notices
        notices.on(TOPIC, self._local.hint)
        notices.on_reconnect(self._hint_everybody)

    @property
    def closing(self) -> bool:
        """See `Wakeups.closing`."""
        return self._local.closing

    def publish(self, tx: Transaction, subject: str) -> None:
        """See `Wakeups.publish`."""
        self._notices.send(tx, TOPIC, subject)

    def listen(self, subject: str) -> MemoryWait:
        """See `Wakeups.listen`."""
        return self._local.listen(subject)

    def waited_for(self) -> list[str]:
        """See `Wakeups.waited_for`."""
        return self._local.waited_for()

    def hint(self, subject: str) -> None:
        """See `Wakeups.hint`."""
        self._local.hint(subject)

    @asynccontextmanager
    async def hold(self, subject: str) -> AsyncIterator[bool]:
        """See `Wakeups.hold`."""
        async with self._local.hold(subject) as ours:
            if not ours:
                yield False
                return
            key = _lock_key(subject)
            # Shielded: whoever is cancelled while the lock is on its way must still free it.
            taking = asyncio.ensure_future(self._locks.take(key))
            try:
                yield await asyncio.shield(taking)
            finally:
                await asyncio.shield(asyncio.ensure_future(self._locks.give_back(key, taking)))

    def close_door(self) -> None:
        """See `Wakeups.close_door`."""
        self._local.close_door()

    async def start(self) -> None:
        """See `Wakeups.start`."""
        await self._notices.start()

    async def stop(self) -> None:
        """See `Wakeups.stop`."""
        await self._notices.stop()
        await self._locks.close()

    def _hint_everybody(self) -> None:
        for subject in self._local.waited_for():
            self._local.hint(subject)


class _AdvisoryLocks:
    """Locks of one session, made when first needed and again when it breaks.

    Without the server a lock counts as taken: the rule then holds in this process alone, which is
    better than refusing a reader for an outage.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: AsyncConnection | None = None
        self._connecting = asyncio.Lock()

    async def take(self, key: int) -> bool:
        from psycopg import Error

        try:
            connection = await self._connected()
            cursor = await connection.execute(b"SELECT pg_try_advisory_lock(%s)", (key,))
            row = await cursor.fetchone()
        except Error as error:
            log.warning("hold_not_shared", error=str(error).strip())
            return True
        assert row is not None
        return bool(row[0])

    async def give_back(self, key: int, taking: asyncio.Future[bool]) -> None:
        from psycopg import Error

        if not await taking or self._connection is None or self._connection.closed:
            return
        try:
            await self._connection.execute(b"SELECT pg_advisory_unlock(%s)", (key,))
        except Error as error:  # the session is gone, and the lock with it
            log.info("hold_lost", error=str(error).strip())

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _connected(self) -> AsyncConnection:
        from psycopg import AsyncConnection

        async with self._connecting:
            if self._connection is None or self._connection.closed:
                self._connection = await AsyncConnection.connect(
                    self._url, autocommit=True, application_name="agentpost holds"
                )
            return self._connection


def _lock_key(subject: str) -> int:
    """64 bits of our own part of the lock space, which is one per database."""
    digest = hashlib.sha256(f"agentpost hold {subject}".encode()).digest()
    return int.from_bytes(digest[:8], signed=True)
