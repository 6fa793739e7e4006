"""Notices between nodes: what one node's transaction says, every node hears once it is committed.

One PostgreSQL channel carries all topics; each process has a connection that listens, and one that
sends after the commit (`sender`). A notice is a hint: while a connection is away notices are lost,
so whoever needs more asks to be told when it is back (`PostgresNotices.on_reconnect`) and looks for
itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import structlog

from agentpost.domain import backoff
from agentpost.wakeups.base import Transaction
from agentpost.wakeups.sender import CHANNEL, NoticeSender

if TYPE_CHECKING:
    from psycopg import AsyncConnection

log = structlog.get_logger(__name__)

_AGAIN_SECONDS = 0.2
_PING_SECONDS = 3.0
_PONG_SECONDS = 5.0
_RETRY_SECONDS_MIN = 0.1
_RETRY_SECONDS_MAX = 5.0


class PostgresNotices:
    """Sends and hears notices. Listeners are called on any thread and must be quick. ``url``:
    ``postgresql://…``, a direct connection or a pooler in session mode."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._origin = os.urandom(6).hex()
        self._sender = NoticeSender(url, self._origin)
        self._listeners: dict[str, Callable[[str], None]] = {}
        self._reconnected: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None
        self._listening = False

    def on(self, topic: str, listener: Callable[[str], None]) -> None:
        """Call ``listener(subject)`` for every notice of a topic, our own ones included."""
        self._listeners[topic] = listener

    def on_reconnect(self, listener: Callable[[], None]) -> None:
        """Call this when the connection is back: notices may have been missed."""
        self._reconnected.append(listener)

    def post(self, topic: str, subject: str) -> None:
        """Give notice to the other nodes; safe on any thread."""
        self._sender.post(topic, subject)

    def send(self, tx: Transaction, topic: str, subject: str) -> None:
        """Give notice once ``tx`` is committed. Here it arrives without the way over the server."""
        tx.after(partial(self._deliver, topic, subject))
        tx.after(partial(self._sender.post, topic, subject))

    async def start(self) -> None:
        """Listen from here on; raises `psycopg.OperationalError` when there is no server."""
        connection = await self._listen()
        self._task = asyncio.create_task(self._hear_forever(connection), name="notices")
        self._sender.start()

    async def stop(self) -> None:
        """Disconnect."""
        task, self._task = self._task, None
        while task is not None and not task.done():
            # Again and again: before Python 3.12 a notice that arrives at the same moment makes
            # the driver lose the cancellation.
            task.cancel()
            await asyncio.wait({task}, timeout=_AGAIN_SECONDS)
        await asyncio.to_thread(self._sender.stop)

    async def check(self) -> None:
        """Raises `ConnectionError` while notices of other nodes do not arrive."""
        if not self._listening:
            raise ConnectionError("the listener for notices is not connected")

    async def _listen(self) -> AsyncConnection:
        from psycopg import AsyncConnection

        connection = await AsyncConnection.connect(
            self._url,
            autocommit=True,
            application_name="agentpost notices",
            keepalives_idle=10,
            keepalives_interval=3,
            keepalives_count=3,
        )
        await connection.execute(f"LISTEN {CHANNEL}".encode())
        self._listening = True
        return connection

    async def _hear_forever(self, connection: AsyncConnection) -> None:
        while True:
            try:
                await self._hear(connection)
            except Exception as error:
                log.warning("notices_interrupted", error=str(error).strip())
            finally:
                self._listening = False
                with contextlib.suppress(Exception):
                    await connection.close()
            connection = await self._reconnect()
            self._sender.renew()  # its server may not be the primary any more either
            log.info("notices_resumed")
            for listener in self._reconnected:
                self._call(listener)

    async def _hear(self, connection: AsyncConnection) -> None:
        """Deliver until the connection breaks. It is asked again and again whether it still lives,
        and ends when its server takes no writes: the nodes give notice at another one then."""
        while True:
            async for notice in connection.notifies(timeout=_PING_SECONDS):
                origin, _, rest = notice.payload.partition(" ")
                if origin != self._origin:  # ours were delivered by the commit
                    topic, _, subject = rest.partition(" ")
                    self._deliver(topic, subject)
            async with asyncio.timeout(_PONG_SECONDS):
                await connection.execute(b"SELECT 1")
            if _is_read_only(connection):
                raise ConnectionError("the server takes no writes")

    async def _reconnect(self) -> AsyncConnection:
        tries = 0
        while True:
            try:
                return await self._listen()
            except Exception as error:
                log.debug("notices_reconnect_failed", error=str(error).strip())
            await asyncio.sleep(backoff.pause(tries, _RETRY_SECONDS_MIN, _RETRY_SECONDS_MAX))
            tries += 1

    def _deliver(self, topic: str, subject: str) -> None:
        listener = self._listeners.get(topic)
        if listener is not None:
            self._call(partial(listener, subject))

    @staticmethod
    def _call(listener: Callable[[], None]) -> None:
        """A listener must not end our listening."""
        try:
            listener()
        except Exception:
            log.exception("notice_failed")


def _is_read_only(connection: AsyncConnection) -> bool:
    """Whether the session's server takes no writes, as it said last: it says so by itself when that
    changes. There LISTEN may work, but nobody gives notice."""
    parameter = connection.pgconn.parameter_status
    return b"on" in (parameter(b"default_transaction_read_only"), parameter(b"in_hot_standby"))
