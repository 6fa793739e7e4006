# Made by docs/client_sync.py from agentpost_client/_async/client.py; change that.
"""The client: one server, one key, and what people do every day."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from agentpost_client._sync import io
from agentpost_client._sync.connections import Connections
from agentpost_client._sync.events import Events
from agentpost_client._sync.files import Files
from agentpost_client._sync.http import HttpClient
from agentpost_client._sync.messages import Messages
from agentpost_client._sync.pages import Pages
from agentpost_client._sync.requests import Requests
from agentpost_client._sync.schedules import Schedules
from agentpost_client._sync.transport import Transport
from agentpost_client._sync.uploads import Uploads
from agentpost_client._sync.webhooks import Webhooks
from agentpost_client._sync.work import Works
from agentpost_client.attachments import Progress, Sendable, Uploadable
from agentpost_client.config import resolve_config
from agentpost_client.deltas import TextDelta, TextReset
from agentpost_client.enums import UsageGroup
from agentpost_client.limits import WORK_LIST_DEFAULT
from agentpost_client.models import (
    Account,
    Entry,
    File,
    Message,
    Upload,
    Usage,
    UsageList,
    Work,
    WorkItem,
)
from agentpost_client.operations import operation
from agentpost_client.options import TIMEOUT_SECONDS, Options, checked_timeout, with_retries
from agentpost_client.requests import SendOptions, call, moment
from agentpost_client.retries import RetryPolicy


class Client:
    """One server and one key; close it, or use it as a context.

        >>> with Client() as client:  # AGENTPOST_URL and AGENTPOST_KEY
        ...     done = client.send_and_wait("Look", files=["sales.csv"], timeout=60)
        >>> done.status
        <MessageStatus.COMPLETED: 'completed'>

    What people do every day are methods of the client. `messages`, `events`, `files`, `uploads`,
    `work`, `schedules`, `requests` and `webhooks` have every operation of the API.

    ``url`` and ``key`` come from ``AGENTPOST_URL`` and ``AGENTPOST_KEY`` when not given; without
    them: `ConfigError`. ``timeout`` is the longest silence in seconds, on top of what a long poll
    is held; a message is answered after up to about 30. ``max_retries`` bounds how often a request
    is sent again; ``policy`` has all about it. ``http_client``, such as an ``httpx2.Client``,
    is yours to configure (proxies, certificates) and to close. ``on_retry`` is called before a
    request is sent again, with the seconds until then and the reason in a few words; the logger
    ``agentpost_client`` says the same at the level INFO. ``sleep`` and ``clock`` are there to be
    replaced in tests. Every method may raise the errors of `agentpost_client.errors`.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        max_retries: int | None = None,
        policy: RetryPolicy | None = None,
        http_client: HttpClient | None = None,
        on_retry: Callable[[float, str], object] | None = None,
        sleep: Callable[[float], object] = io.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        policy = policy or RetryPolicy()
        if max_retries is not None:
            policy = with_retries(policy, max_retries)
        config = resolve_config(url, key)
        options = Options(config, checked_timeout(timeout), policy, on_retry, clock)
        self._owned: Connections | None = Connections(config.url, http_client)
        self._use(Transport(options, self._owned, sleep))

    def _use(self, transport: Transport) -> None:
        self._transport = transport
        self.uploads = Uploads(transport)
        self.messages = Messages(transport, self.uploads)
        self.events = Events(transport)
        self.files = Files(transport)
        self.work = Works(transport)
        self.schedules = Schedules(transport)
        self.requests = Requests(transport)
        self.webhooks = Webhooks(transport)

    def with_options(
        self, *, timeout: float | None = None, max_retries: int | None = None
    ) -> Client:
        """A client with the same connections that waits or retries otherwise.

            >>> quick = client.with_options(timeout=5, max_retries=0)
            >>> quick.me().limits.running_jobs
            5

        The connections are closed with the client they were opened by.
        """
        other = Client.__new__(Client)
        other._owned = None
        options = self._transport.options.with_changes(timeout, max_retries)
        other._use(Transport(options, self._transport.http, self._transport.sleep))
        return other

    def send(
        self, message: str = "", files: Sequence[Sendable] = (), **options: Unpack[SendOptions]
    ) -> Message:
        """Create a message and return it as the API answers, final or still processing.

        Local files travel inside the request; those too large or too many for it are uploaded
        first (`FileRefused` if that can't be either). ``upload_ids`` names finished uploads. An
        Idempotency-Key is made when none is given and kept over all tries, so a repeated try never
        starts work twice. With a key of your own, upload large files yourself and name their ids:
        each call would upload them anew, which makes it another message under the same key.
        While the agent is busy with another message of the conversation the same request is sent
        again; if it stays busy, the message with ``reason: agent_busy`` is returned. With
        ``busy="fail"`` that comes at once, and with ``busy="queue"`` the message has its turn when
        the conversation is free. Work that would use more than ``max_credits`` is parked.
        ``answer_to`` is the id of a message that asks, and ``answer`` one of its choices or JSON
        that fits its schema (`Message.answer_format`). With a ``response_schema`` the message has
        an ``output`` that fits it. The call is held at most ``wait`` seconds (0 to 45) for the
        agent's answer; with 0 it returns as soon as the message is accepted.

            >>> sent = client.send("Hello", conversation="anna", metadata={"order": "7"})
            >>> sent.metadata
            {'order': '7'}
        """
        return self.messages.send(message, files, **options)

    def send_and_wait(
        self,
        message: str = "",
        files: Sequence[Sendable] = (),
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> Message:
        """`send` and `wait`: the message once it is final.

            >>> done = client.send_and_wait("Look", files=["sales.csv"], timeout=60)
            >>> [file.name for file in done.files]
            ['columns.csv']

        Raises `WaitTimeout`, with the message, when it is not ``timeout`` seconds after the API
        took it; the work continues.
        """
        answer = self.messages.send(message, files, **options)
        return answer if answer.final else self.messages.wait(answer.id, timeout)

    def send_and_stream(
        self, message: str = "", files: Sequence[Sendable] = (), **options: Unpack[SendOptions]
    ) -> Generator[Message | Entry | TextDelta | TextReset, None]:
        """Send a message and read along with it, the reply while it is written.

            >>> for part in client.send_and_stream("Look", files=["sales.csv"]):
            ...     if isinstance(part, TextDelta):
            ...         print(part.text, end="")  # as the agent writes it
            ...     elif isinstance(part, Message):
            ...         done = part
            >>> done.final
            True

        The first item is the `Message` as it was accepted, with its id, and the last one the final
        `Message`. Between them comes what `Messages.stream` gives: each `Entry` of the log,
        and `TextDelta` and `TextReset`. A broken connection is made again, and no entry is lost or
        repeated. The message is sent when the first item is asked for, with the ``options`` of
        `send` (``wait`` is 0 here). While the agent is busy it is sent again, as by `send`, and
        comes as a further `Message`. To stop reading, leave the loop: the work continues, and
        `Messages.stream` reads on behind the last entry. The key needs the scopes ``send`` and
        ``read``.
        """
        return self.messages.send_and_stream(message, files, **options)

    def get(self, message_id: str, wait: int = 0) -> Message:
        """The message now, or after its next change within ``wait`` seconds (0 to 45)."""
        return self.messages.get(message_id, wait)

    def wait(self, message_id: str, timeout: float | None = None) -> Message:
        """The message once it is final; `WaitTimeout` after ``timeout`` seconds (None: never)."""
        return self.messages.wait(message_id, timeout)

    def follow(
        self, message_id: str, cursor: str | None = None, after: int = 0
    ) -> Generator[Entry, None, None]:
        """The entries of the message's log as they come, until nothing more can come.

            >>> sent = client.send("Look", files=["sales.csv"])
            >>> for entry in client.follow(sent.id):
            ...     print(entry.seq, entry.type)
            1 agent_reply
            2 progress
            ...

        A broken connection is made again and nothing is lost or repeated. To go on where an
        earlier call stopped, give the ``cursor`` and, as ``after``, the ``seq`` of the last entry
        you had: the cursor says where to read on, ``after`` leaves out what came on the same page
        before. Entries are kept for seven days.
        """
        return self.messages.follow(message_id, cursor, after)

    def upload(self, file: Uploadable, on_progress: Progress | None = None) -> Upload:
        """Send a file of up to 500 MB ahead, in constant memory; name its id in ``upload_ids``.

            >>> from agentpost_client import Attachment
            >>> ready = client.upload(Attachment("a.csv", iter([b"a,b", b"1,2"])))
            >>> (ready.filename, ready.size)
            ('a.csv', 6)

        ``on_progress`` is called with the bytes done and all of them. Raises `FileRefused`, and
        `ApiError` such as ``executable_refused``.
        """
        return self.uploads.send(file, on_progress)

    def file(self, file_id: str) -> File:
        """A file's record with a fresh link."""
        return self.files.get(file_id)

    def download(
        self, file: File | str, into: str | os.PathLike[str], on_progress: Progress | None = None
    ) -> Path:
        """Save a file (or the file with that id) and return where.

        ``into`` is a folder, or the path of the file to write, which is replaced in one step when
        all bytes are there. A stale link is renewed once. ``on_progress`` is called with the bytes
        done and all of them. Raises `OSError` for the disk's trouble.
        """
        return self.files.download(file, into, on_progress)

    @operation("getAccount")
    def me(self) -> Account:
        """The account the key belongs to.

        >>> client.me().limits.running_jobs
        5
        """
        return self._transport.ask(call("GET", "me"), Account)

    @operation("listUsage")
    def usage(
        self,
        group_by: UsageGroup | str | None = None,
        *,
        start: date | datetime | str | None = None,
        end: date | datetime | str | None = None,
        limit: int | None = None,
        before: str | None = None,
    ) -> Pages[Usage]:
        """What the account used by day (default), key or conversation, over all pages.

        ``start`` is the first moment that counts (30 days ago by default) and ``end`` the first
        that does not; a day is its midnight in UTC. ``limit`` is the size of a page; ``before`` the
        ``id`` of a line, to start behind it.
        """

        def read(cursor: str | None) -> tuple[tuple[Usage, ...], str | None]:
            query = {
                "group_by": group_by,
                "from": moment(start),
                "to": moment(end),
                "limit": limit,
                "before": cursor or before,
            }
            page = self._transport.ask(call("GET", "usage", query=query), UsageList)
            return page.data, page.data[-1].id if page.has_more and page.data else None

        return Pages(read)

    def work_list(self, limit: int = WORK_LIST_DEFAULT) -> tuple[WorkItem, ...]:
        """The account's newest works, 1 to 50."""
        return self.work.list(limit)

    def stop(self, work_id: str) -> Work:
        """Stop what runs in a work; its files stay."""
        return self.work.stop(work_id)

    def close(self) -> None:
        """Release the connections."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
