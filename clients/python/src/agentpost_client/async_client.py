"""The asyncio twin of `Client`: the same flows, with every step awaited."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import anyio.to_thread
import httpx2

from agentpost_client import flows
from agentpost_client.attachments import Sendable
from agentpost_client.config import resolve_config
from agentpost_client.limits import WORK_LIST_DEFAULT
from agentpost_client.models import Account, Entry, File, Message, Upload, Work, WorkItem
from agentpost_client.partial import PartialFile
from agentpost_client.retries import RetryPolicy
from agentpost_client.wire import (
    CHUNK_BYTES,
    Answer,
    Call,
    Fault,
    api_request,
    form_request,
    link_request,
    read_answer,
    read_fault,
)

T = TypeVar("T")


class AsyncClient:
    """`Client` for asyncio; its docstrings hold here too.

    Use it on one event loop; disk work is done in threads. ``follow`` is iterated with
    ``async for``.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        policy: RetryPolicy | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
        on_retry: Callable[[float, str], object] | None = None,
    ) -> None:
        self._context = flows.Context(resolve_config(url, key), policy or RetryPolicy(), clock)
        self._timeout = timeout
        self._http = httpx2.AsyncClient(transport=transport)
        self._sleep = sleep
        self._on_retry = on_retry

    async def send(
        self,
        message: str = "",
        files: Sequence[Sendable] = (),
        conversation: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        webhook_endpoint_id: str | None = None,
        upload_ids: Sequence[str] = (),
    ) -> Message:
        """See `Client.send`."""
        return await self._run(
            flows.send(
                self._context,
                message,
                files,
                conversation,
                metadata,
                idempotency_key,
                webhook_endpoint_id,
                upload_ids,
            )
        )

    async def upload(self, file: Sendable) -> Upload:
        """See `Client.upload`."""
        return await self._run(flows.upload(self._context, file))

    async def get(self, message_id: str, wait: int = 0) -> Message:
        """See `Client.get`."""
        return await self._run(flows.get(self._context, message_id, wait))

    async def wait(self, message_id: str, timeout: float | None = None) -> Message:
        """See `Client.wait`."""
        return await self._run(flows.wait(self._context, message_id, timeout))

    def follow(
        self, message_id: str, cursor: str | None = None, after: int = 0
    ) -> AsyncIterator[Entry]:
        """See `Client.follow`."""
        return self._iterate(flows.follow(self._context, message_id, cursor, after))

    async def me(self) -> Account:
        """See `Client.me`."""
        return await self._run(flows.me(self._context))

    async def work(self, work_id: str, from_char: int = 0) -> Work:
        """See `Client.work`."""
        return await self._run(flows.work(self._context, work_id, from_char))

    async def work_list(self, limit: int = WORK_LIST_DEFAULT) -> tuple[WorkItem, ...]:
        """See `Client.work_list`."""
        return await self._run(flows.work_list(self._context, limit))

    async def stop(self, work_id: str) -> Work:
        """See `Client.stop`."""
        return await self._run(flows.stop(self._context, work_id))

    async def file(self, file_id: str) -> File:
        """See `Client.file`."""
        return await self._run(flows.file(self._context, file_id))

    async def download(self, file: File | str, into: Path) -> Path:
        """See `Client.download`."""
        return await self._run(flows.download(self._context, file, into))

    async def aclose(self) -> None:
        """Release the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _run(self, flow: flows.Flow[T]) -> T:
        outcome: Any = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            outcome = await self._carry_out(step)

    async def _iterate(self, flow: flows.Flow[None]) -> AsyncIterator[Entry]:
        outcome: Any = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration:
                return
            if isinstance(step, flows.Emit):
                yield step.entry
                outcome = None
            else:
                outcome = await self._carry_out(step)

    async def _carry_out(self, step: flows.Step) -> Any:
        match step:
            case Call():
                return await self._ask(step)
            case flows.Fetch():
                return await self._fetch(step)
            case flows.Post():
                return await self._post(step)
            case flows.Pause():
                if step.why and self._on_retry is not None:
                    self._on_retry(step.seconds, step.why)
                return await self._sleep(step.seconds)
            case flows.Local():
                return await anyio.to_thread.run_sync(step.call)
            case flows.Emit():
                raise AssertionError("only a followed flow emits")

    async def _ask(self, call: Call) -> Answer | Fault:
        request = api_request(self._context.config, call, self._timeout)
        try:
            response = await self._http.request(**request)
        except httpx2.RequestError as error:
            return read_fault(error)
        return read_answer(response, response.content)

    async def _fetch(self, fetch: flows.Fetch) -> Answer | Fault:
        try:
            async with self._http.stream(**link_request(fetch.url, self._timeout)) as response:
                if not response.is_success:
                    return read_answer(response, await response.aread())
                with await anyio.to_thread.run_sync(PartialFile, fetch.target) as partial:
                    async for chunk in response.aiter_bytes(CHUNK_BYTES):
                        await anyio.to_thread.run_sync(partial.write, chunk)
                    await anyio.to_thread.run_sync(partial.keep)
                return read_answer(response, b"")
        except httpx2.RequestError as error:
            return read_fault(error)

    async def _post(self, post: flows.Post) -> Answer | Fault:
        request = form_request(post.url, post.form, self._timeout)
        try:
            response = await self._http.request(**request, content=_in_threads(post.form.chunks()))
        except httpx2.RequestError as error:
            return read_fault(error)
        return read_answer(response, response.content)


async def _in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes, read from the disk beside the event loop."""
    while (chunk := await anyio.to_thread.run_sync(next, chunks, None)) is not None:
        yield chunk
