"""The request inspector: store every API request without slowing the request down.

Each request adds an entry to a queue in memory; a background task writes the entries in batches.
When the queue is full, or a key has been refused often within a minute, entries are dropped and
counted: the log never delays the API, and what changes something is never dropped. Entries contain
no secret: headers are left out, and `requests.redaction` cleans the bodies.
"""

import asyncio
import json
import re
import time
from collections import Counter, deque
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

import structlog

from agentpost.accounts import rows as account_rows
from agentpost.clock import Clock
from agentpost.db.session import Database, Tx
from agentpost.domain import ids
from agentpost.domain.times import MINUTE
from agentpost.record.records import RequestRecord
from agentpost.requests import rows as request_rows
from agentpost.requests.filter_rules import RequestFilter
from agentpost.requests.redaction import LargeBody, Redaction
from agentpost.requests.shapes import LEFT_OUT, is_cut

log = structlog.get_logger(__name__)

FLUSH_SECONDS = 0.5
QUEUE_MAX = 20_000
_BATCH = 64
_MADE_AT_ONCE = 8
"""So many rows take a quarter of a millisecond, 64 of them two, for which held calls would wait."""
STRANGERS_PER_FLUSH = 50
"""Requests without a known key that are kept between two writes: anybody can send those."""

LONG_BODY_BYTES = 2_048
"""A body that is longer is cleaned on a thread, and is kept only while there is room for it."""
LONG_BODIES_BYTES_MAX = 16 * 2**20
"""Of long bodies that wait to be written."""

_METHOD_CHARACTERS_MAX = 20
ALL = RequestFilter()
REFUSED_KEPT_PER_MINUTE = 20
"""Of the refused calls of a key."""
BODIES_KEPT_PER_MINUTE = 60
"""So many calls of a key are kept with their bodies, the others without: a program that reads long
answers all day would fill the disk."""
_LOG_SECONDS = 60.0
"""Between two lines that say how many requests were left out."""


@dataclass(slots=True)
class RequestLogEntry:
    """One request to the API with its bodies as they were sent."""

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
    request_body: bytes | LargeBody
    response_body: bytes | LargeBody
    traceparent: str | None
    reads: bool = False
    """Whether it only reads, although its method is that of a change."""

    @property
    def is_refused(self) -> bool:
        """Whether it was refused; by MCP and Agent2Agent the status of that may be 200."""
        return 400 <= self.status < 500 or (self.status < 400 and self.error is not None)

    @property
    def changes(self) -> bool:
        """Whether it may have changed something."""
        has_failed = self.status >= 400 or self.error is not None
        return not (self.reads or has_failed or self.method in READS)

    @property
    def long_bytes(self) -> int:
        """How many bytes of long bodies it holds."""
        bodies = (self.request_body, self.response_body)
        sizes = [len(one.rest if isinstance(one, LargeBody) else one) for one in bodies]
        return sum(size for size in sizes if size > LONG_BODY_BYTES)

    def without_bodies(self) -> "RequestLogEntry":
        """The same with no more than the sizes of its bodies."""
        return replace(
            self,
            request_body=LargeBody(_size(self.request_body)),
            response_body=LargeBody(_size(self.response_body)),
        )


class RequestLog:
    """The queue and its writing. `append` is for the event loop that also calls `flush`.

    Args:
        clock: says which messages are past their retention: their bodies are not kept.
        key_prefix: how API keys begin: they are left out of what is kept.
    """

    def __init__(self, db: Database, clock: Clock, key_prefix: str) -> None:
        self._db = db
        self._clock = clock
        self._redaction = Redaction(key_prefix)
        self._queue: deque[RequestLogEntry] = deque()
        self._writing: RequestLogEntry | None = None  # the oldest of the batch
        self._strangers = 0
        self._lost = 0
        self._long = 0
        self._left_out = Counter[str]()  # refused calls of keys that no log line tells yet
        self._logged_at: float | None = None
        self._minute = 0
        self._refused = Counter[str]()  # of keys, within that minute
        self._kept = Counter[str]()

    def append(self, entry: RequestLogEntry) -> None:
        """Remember a request, unless it changed nothing and the queue is full, or its key was
        refused often in this minute; without its bodies when its key made many calls in it, or they
        are long and too many of those wait. What changes something waited for a commit, which
        bounds how many there can be."""
        if (minute := entry.at // MINUTE) != self._minute:
            self._minute = minute
            self._refused.clear()
            self._kept.clear()
        owner = entry.key_id or entry.account_id  # of the web app: the account of the user
        if owner is not None and entry.is_refused:
            self._refused[owner] += 1
            if self._refused[owner] > REFUSED_KEPT_PER_MINUTE:
                self._left_out[owner] += 1
                return
        if owner is not None:
            self._kept[owner] += 1
            if self._kept[owner] > BODIES_KEPT_PER_MINUTE:
                entry = entry.without_bodies()
        full = len(self._queue) >= QUEUE_MAX and not entry.changes
        long = entry.long_bytes
        if long and (entry.account_id is None or self._long + long > LONG_BODIES_BYTES_MAX):
            entry, long = entry.without_bodies(), 0
        if entry.account_id is None:
            self._strangers += 1
            full = full or self._strangers > STRANGERS_PER_FLUSH
        if full:
            self._lost += 1
        else:
            self._long += long
            self._queue.append(entry)

    @property
    def unwritten_since(self) -> int | None:
        """When the oldest request ended that is not written yet, in microseconds; None when all
        are."""
        oldest = self._writing or (self._queue[0] if self._queue else None)
        return None if oldest is None else oldest.at + 1_000 * oldest.ms

    async def flush(self) -> None:
        """Write what has gathered, a batch at a time; losses are logged, never raised."""
        used_at: dict[str, int] = {}
        for _ in range(-(-len(self._queue) // _BATCH)):
            batch = [self._queue.popleft() for _ in range(min(_BATCH, len(self._queue)))]
            for entry in batch:
                if entry.key_id is not None:
                    used_at[entry.key_id] = max(entry.at, used_at.get(entry.key_id, 0))
            self._writing = batch[0]
            try:
                long = sum(entry.long_bytes for entry in batch)
                await self._insert(await self._records(batch, on_thread=long > 0))
                self._long -= long
            except asyncio.CancelledError:  # at the end: the last flush writes them, once
                self._queue.extendleft(reversed(batch))
                raise
            except Exception as error:
                self._lost += len(batch)
                self._long = sum(entry.long_bytes for entry in self._queue)
                log.warning("request_log_failed", error=str(error))
            finally:
                self._writing = None
        count, self._lost, self._strangers = self._lost, 0, 0
        if count:
            log.warning("request_log_lost", requests=count)
        if used_at:
            try:
                await self._db.write(partial(_touch, used_at))
            except Exception as error:
                log.warning("key_uses_not_noted", keys=len(used_at), error=str(error))
        self._log_refused()

    async def _insert(self, records: list[RequestRecord]) -> None:
        """Write lines; those about a deleted message without bodies, also when it is deleted
        meanwhile: another node's transaction may not see these lines, nor these what it deletes."""
        lines = [with_subject(each) for each in records]
        await self._db.write(lambda tx: _insert(tx, lines, self._clock.now()))
        if any(line.message_id for line in lines):
            deleted = await self._db.read(
                lambda tx: request_rows.deleted_messages(tx, lines, self._clock.now())
            )
            for message_id in deleted:
                await self._db.write(
                    lambda tx: request_rows.forget_bodies(tx, message_id, _BATCH)  # noqa: B023
                )

    def _log_refused(self) -> None:
        now = time.monotonic()
        if self._logged_at is not None and now - self._logged_at < _LOG_SECONDS:
            return
        for owner, count in sorted(self._left_out.items()):
            self._logged_at = now
            log.warning("request_log_refused", key_id=owner, requests=count)
        self._left_out.clear()

    async def _records(
        self, batch: list[RequestLogEntry], *, on_thread: bool
    ) -> list[RequestRecord]:
        """Their rows, made in turns with other work of the loop; on a thread when bodies are long:
        one takes up to some milliseconds, for which no request shall wait."""
        if on_thread:
            return await asyncio.to_thread(lambda: [self._record(entry) for entry in batch])
        records: list[RequestRecord] = []
        for start in range(0, len(batch), _MADE_AT_ONCE):
            records += [self._record(entry) for entry in batch[start : start + _MADE_AT_ONCE]]
            await asyncio.sleep(0)
        return records

    def _record(self, a: RequestLogEntry) -> RequestRecord:
        is_known, body = a.account_id is not None, self._redaction.body
        return RequestRecord(
            id=a.id,
            at=a.at,
            account_id=a.account_id,
            key_id=a.key_id,
            method=a.method[:_METHOD_CHARACTERS_MAX],
            path=self._redaction.path(a.raw_path, a.query),
            status=a.status,
            error=a.error,
            ms=a.ms,
            request_bytes=_size(a.request_body),
            response_bytes=_size(a.response_body),
            request_body=body(a.request_body, a.raw_path) if is_known else None,
            response_body=body(a.response_body, a.raw_path) if is_known else None,
            traceparent=a.traceparent,
        )


def _size(body: bytes | LargeBody) -> int:
    return body.size if isinstance(body, LargeBody) else len(body)


def _insert(tx: Tx, lines: list[RequestRecord], now: int) -> None:
    deleted = request_rows.deleted_messages(tx, lines, now)
    bare_lines = [
        replace(line, request_body=None, response_body=None) if line.message_id in deleted else line
        for line in lines
    ]
    request_rows.REQUESTS.insert_all(tx, bare_lines)


def _touch(used_at: dict[str, int], tx: Tx) -> None:
    for key_id, at in sorted(used_at.items()):  # two nodes lock the rows in one order
        account_rows.touch_key(tx, key_id, at)


async def recent(
    db: Database,
    account_id: str,
    filters: RequestFilter = ALL,
    *,
    before: str | None = None,
    since: str | None = None,
    limit: int = 50,
) -> tuple[list[RequestRecord], str | None]:
    """An account's requests, newest first, without their bodies; and what to give as ``before``
    for the next page, None at the end. Only ids from ``since`` on, and those the filter wants."""
    if since is not None:
        filters = replace(filters, since=max(since, filters.since or ""))
    bound = before or ids.last(ids.REQUEST)
    return await db.read(
        lambda tx: request_rows.of_account(tx, account_id, filters, before=bound, limit=limit)
    )


async def get(db: Database, account_id: str, request_id: str) -> RequestRecord | None:
    """One request of an account, None when there is none (any more)."""
    return await db.read(lambda tx: request_rows.get(tx, account_id, request_id))


# A line is about one message at most. An answer that shows several of them is not kept, since it
# would have to be taken apart when one of them is deleted.
READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MESSAGES: Final = "/v1/messages"
_LOG: Final = "/v1/requests/"
_ID: Final = re.compile(rf"{ids.MESSAGE}[0-9a-f]{{32}}")
_REFUSED: Final = range(400, 499)


def with_subject(line: RequestRecord) -> RequestRecord:
    """The line with the id of its message, without the bodies that cannot be told to be of one.

    Those are answers that show several messages, or were cut before the last id; answers of the log
    itself; and a text that was sent without an answer that names the message it became. Of a
    message that was refused the texts are left out: a repeat may become a message, which is deleted
    one day, and nothing says that this was the same one.
    """
    path = line.path.partition("?")[0]
    path = unquote(path) if "%" in path else path
    shows_nothing = line.method in READS or (line.status == 404 and path != _MESSAGES)
    if line.status >= 400 and shows_nothing:
        return line
    request_body, response_body = line.request_body, line.response_body
    if path.startswith(_LOG):
        return replace(line, request_body=None, response_body=None)
    own = _ID.search(path)
    if own is None and line.method == "POST" and path == _MESSAGES and line.status < 400:
        own = _ID.search(response_body or "")  # its id is the first field
    if own is not None:
        return replace(line, message_id=own[0])
    if path == _MESSAGES and line.method not in READS:
        if line.status not in _REFUSED:
            return replace(line, request_body=None, response_body=None)
        line = replace(line, request_body=_without_texts(line.request_body))
    pairs = {*_ID.findall(request_body or ""), *_ID.findall(response_body or "")}
    if len(pairs) > 1 or (pairs and is_cut(response_body)):
        return replace(line, request_body=None, response_body=None)
    return replace(line, message_id=pairs.pop()) if pairs else line


def _without_texts(body: str | None) -> str | None:
    """The fields of a message with nothing that was written; None for what is no JSON."""
    try:
        return None if body is None else json.dumps(_outline(json.loads(body)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _outline(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _outline(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_outline(inner) for inner in value]
    return LEFT_OUT if isinstance(value, str) else value
