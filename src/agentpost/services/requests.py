"""The request inspector: every request to the API is remembered, written beside the hot path.

A request puts its facts into a queue in memory; a background task writes them in batches. A queue
that is full loses requests and says how many: the API is never held up by its own log. What is kept
holds no secret: headers are not kept, and of bodies what `services.redaction` leaves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import partial

import structlog

from agentpost.db import accounts as account_rows
from agentpost.db import requests as rows
from agentpost.db.requests import RequestRecord
from agentpost.db.session import Database, Tx
from agentpost.domain import ids
from agentpost.services.redaction import Redaction

log = structlog.get_logger(__name__)

FLUSH_SECONDS = 0.5
QUEUE_MAX = 20_000
BATCH = 64
STRANGERS_PER_FLUSH = 50
"""Requests without a known key that are kept between two writes: anybody can send those."""

METHOD_CHARACTERS_MAX = 20


@dataclass(slots=True)
class Asked:
    """A request as the door saw it; bodies as they were, or how long one was that is not kept."""

    id: str
    at: int
    account_id: str | None
    key_id: str | None
    method: str
    raw_path: bytes
    query: bytes
    status: int
    error: str | None
    ms: int
    asked: bytes | int
    answered: bytes
    traceparent: str | None


class RequestLog:
    """The queue and its writing. `note` is for the event loop that also calls `flush`."""

    def __init__(self, db: Database, key_prefix: str) -> None:
        self._db = db
        self._redaction = Redaction(key_prefix)
        self._queue: deque[Asked] = deque()
        self._strangers = 0
        self._lost = 0

    def note(self, asked: Asked) -> None:
        """Remember a request, unless the queue is full."""
        full = len(self._queue) >= QUEUE_MAX
        if asked.account_id is None:
            self._strangers += 1
            full = full or self._strangers > STRANGERS_PER_FLUSH
        if full:
            self._lost += 1
        else:
            self._queue.append(asked)

    async def flush(self) -> None:
        """Write what has gathered, a batch at a time; losses are logged, never raised."""
        used: dict[str, int] = {}
        for _ in range(-(-len(self._queue) // BATCH)):
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            for asked in batch:
                if asked.key_id is not None:
                    used[asked.key_id] = max(asked.at, used.get(asked.key_id, 0))
            try:
                records = [self._record(asked) for asked in batch]
                await self._db.write(partial(_insert, records))
            except asyncio.CancelledError:  # at the end: the last flush writes them, once
                self._queue.extendleft(reversed(batch))
                raise
            except Exception as error:
                self._lost += len(batch)
                log.warning("request_log_failed", error=str(error))
        lost, self._lost, self._strangers = self._lost, 0, 0
        if lost:
            log.warning("request_log_lost", requests=lost)
        if used:
            try:
                await self._db.write(partial(_touch, used))
            except Exception as error:
                log.warning("last_use_not_noted", keys=len(used), error=str(error))

    def _record(self, a: Asked) -> RequestRecord:
        known, body = a.account_id is not None, self._redaction.body
        return RequestRecord(
            id=a.id,
            at=a.at,
            account_id=a.account_id,
            key_id=a.key_id,
            method=a.method[:METHOD_CHARACTERS_MAX],
            path=self._redaction.path(a.raw_path, a.query),
            status=a.status,
            error=a.error,
            ms=a.ms,
            request_bytes=a.asked if isinstance(a.asked, int) else len(a.asked),
            response_bytes=len(a.answered),
            request_body=body(a.asked, a.raw_path)
            if known and isinstance(a.asked, bytes)
            else None,
            response_body=body(a.answered, a.raw_path) if known else None,
            traceparent=a.traceparent,
        )


def _insert(records: list[RequestRecord], tx: Tx) -> None:
    rows.insert(tx, records)


def _touch(used: dict[str, int], tx: Tx) -> None:
    for key_id, at in sorted(used.items()):  # two nodes lock the rows in one order
        account_rows.touch_key(tx, key_id, at)


async def recent(
    db: Database,
    account_id: str,
    *,
    before: str | None = None,
    key_id: str | None = None,
    failed: bool = False,
    limit: int = 50,
) -> list[RequestRecord]:
    """An account's requests, newest first; ``before``: the last id of the page before."""
    bound = before or ids.last(ids.REQUEST)

    def fn(tx: Tx) -> list[RequestRecord]:
        return rows.of_account(
            tx, account_id, before=bound, key_id=key_id, failed=failed, limit=limit
        )

    return await db.read(fn)


async def get(db: Database, account_id: str, request_id: str) -> RequestRecord | None:
    """One request of an account, None when there is none (any more)."""
    return await db.read(lambda tx: rows.get(tx, account_id, request_id))
