"""Messages: what is said to the agent, and what became of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from itertools import count
from math import ceil
from typing import Unpack

from agentpost_client._async import following, io
from agentpost_client._async.calls import AsyncMessageCalls
from agentpost_client._async.following import EMPTY_POLL_SECONDS
from agentpost_client._async.pages import AsyncPages
from agentpost_client._async.transport import AsyncTransport
from agentpost_client._async.uploads import AsyncUploads, open_files
from agentpost_client.attachments import Package, Sendable, pack
from agentpost_client.deltas import TextDelta, TextReset
from agentpost_client.enums import MessageStatus
from agentpost_client.errors import WaitTimeout
from agentpost_client.limits import AGENT_BUSY_RETRY_SECONDS, WAIT_SECONDS_MAX
from agentpost_client.models import (
    Entry,
    EntryPage,
    Message,
    MessageItem,
    MessageList,
)
from agentpost_client.operations import operation
from agentpost_client.requests import (
    SendOptions,
    call,
    checked_key,
    create_message,
    get_message,
    list_events,
    moment,
)
from agentpost_client.wire import NOT_MODIFIED, Call, parse


class AsyncMessages(AsyncMessageCalls):
    """The messages of the key."""

    def __init__(self, transport: AsyncTransport, uploads: AsyncUploads) -> None:
        super().__init__(transport)
        self._uploads = uploads

    @operation("createMessage")
    async def send(
        self, message: str = "", files: Sequence[Sendable] = (), **options: Unpack[SendOptions]
    ) -> Message:
        """Create a message; see `AsyncClient.send`."""
        request = await self._request(message, files, options)
        for attempt in count():
            answer = await self._transport.ask(request, Message)
            if not self._is_sent_again(answer, options, attempt):
                return answer
            await self._pause_for(answer, request)
        raise AssertionError("counting never ends")

    async def send_and_stream(
        self, message: str = "", files: Sequence[Sendable] = (), **options: Unpack[SendOptions]
    ) -> AsyncGenerator[Message | Entry | TextDelta | TextReset, None]:
        """Create a message and read along with it; see `AsyncClient.send_and_stream`."""
        options["wait"] = 0
        request = await self._request(message, files, options)
        cursor, seq = None, 0
        for attempt in count():
            answer = await self._transport.ask(request, Message)
            yield answer
            async with aclosing(self.stream(answer.id, cursor, seq)) as parts:
                async for part in parts:
                    if isinstance(part, Entry):
                        cursor, seq = part.cursor, part.seq
                    yield part
            last = await self.get(answer.id)
            if not self._is_sent_again(last, options, attempt):
                yield last
                return
            await self._pause_for(last, request)

    @operation("getMessage")
    async def get(self, message_id: str, wait: int = 0, *, known: Message | None = None) -> Message:
        """The message now, or after its next change within ``wait`` seconds (0 to 45).

        With the state that is ``known``, that one is returned when nothing is newer.
        """
        return await self._get(message_id, wait, known)

    async def wait(self, message_id: str, timeout: float | None = None) -> Message:
        """The message once it is final; `WaitTimeout` after ``timeout`` seconds (None: never)."""
        clock = self._transport.options.clock
        started = clock()
        message = await self._get(message_id, 0)
        while not message.final:
            start, before = clock(), message
            left = WAIT_SECONDS_MAX if timeout is None else started + timeout - start
            if timeout is not None and left <= 0:
                raise WaitTimeout(message, timeout)
            seconds = min(WAIT_SECONDS_MAX, ceil(left))
            message = await self._get(message_id, seconds, patient=True)
            if message.raw == before.raw and clock() - start < EMPTY_POLL_SECONDS:
                await self._transport.pause(EMPTY_POLL_SECONDS)
        return message

    def follow(
        self, message_id: str, cursor: str | None = None, after: int = 0
    ) -> AsyncGenerator[Entry, None]:
        """The entries of the message's log as they come; see `AsyncClient.follow`."""
        return following.follow(self._transport, message_id, cursor, after)

    @operation("streamMessage")
    def stream(
        self, message_id: str, cursor: str | None = None, after: int = 0
    ) -> AsyncGenerator[Entry | TextDelta | TextReset, None]:
        """What `follow` gives and, between the entries, the text that the agent is writing.

        A `TextDelta` is a piece of it and may get lost; a `TextReset` says to drop the pieces. The
        whole text comes with its entry. A server without event streams gives the entries alone.
        """
        return following.stream(self._transport, message_id, cursor, after)

    @operation("listMessageEvents")
    async def events(
        self, message_id: str, cursor: str | None = None, *, wait: int = 0
    ) -> EntryPage:
        """One page of the message's log, waiting up to ``wait`` seconds (0 to 45) for entries.

        `follow` reads all of them.
        """
        return await self._transport.ask(list_events(message_id, cursor, wait), EntryPage)

    @operation("listMessages")
    def list(
        self,
        *,
        status: MessageStatus | str | None = None,
        conversation: str | None = None,
        metadata: Mapping[str, str] | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        limit: int | None = None,
        before: str | None = None,
    ) -> AsyncPages[MessageItem]:
        """The key's messages with the text that was sent, newest first, over all pages.

        ``limit`` is the size of a page; ``before`` the id of a message, to start behind it.
        """

        async def read(cursor: str | None) -> tuple[tuple[MessageItem, ...], str | None]:
            query = {
                "limit": limit,
                "before": cursor or before,
                "status": status,
                "conversation": conversation,
                "created_after": moment(created_after),
                "created_before": moment(created_before),
                **{f"metadata[{name}]": value for name, value in (metadata or {}).items()},
            }
            page = await self._transport.ask(call("GET", "messages", query=query), MessageList)
            if page.next_before is not None:  # few fitted: this page ended before it was full
                return page.data, page.next_before
            return page.data, page.data[-1].id if page.has_more and page.data else None

        return AsyncPages(read)

    async def _request(self, message: str, files: Sequence[Sendable], options: SendOptions) -> Call:
        """The request that creates the message, its large files uploaded."""
        async with open_files(files) as attachments:
            package = await io.run(pack, attachments) if attachments else Package([], [])
            upload_ids = list(options.get("upload_ids") or ())
            key = checked_key(options.get("idempotency_key"))  # before anything is uploaded
            for outgoing in package.uploads:
                ready = await self._uploads.post(outgoing)
                upload_ids.append(ready.upload_id)
        return create_message(message, package.inline, upload_ids, key, options)

    def _is_sent_again(self, answer: Message, options: SendOptions, attempt: int) -> bool:
        """Whether the agent was busy with another message, and the same request may help."""
        may_wait = options.get("busy") in (None, "wait")
        left = self._transport.options.policy.busy_retries - attempt
        return answer.is_agent_busy and may_wait and left > 0

    async def _pause_for(self, busy: Message, request: Call) -> None:
        pause = busy.retry_after_seconds or AGENT_BUSY_RETRY_SECONDS
        await self._transport.pause(
            pause, "the agent is busy with another message", f"{request.name} {busy.id}"
        )

    async def _get(
        self,
        message_id: str,
        wait: int,
        earlier: Message | None = None,
        *,
        patient: bool = False,
    ) -> Message:
        answer = await self._transport.answer(
            get_message(message_id, wait, earlier), patient=patient
        )
        if earlier is not None and answer.status == NOT_MODIFIED:
            return earlier
        return parse(answer, Message)
