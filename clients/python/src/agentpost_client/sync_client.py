"""The blocking client: carries out the steps of `flows` one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

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


class Client:
    """One server and one key. Safe to share between threads; close it, or use it as a context.

    ``url`` and ``key`` come from ``AGENTPOST_URL`` and ``AGENTPOST_KEY`` when not given; without
    them: `ConfigError`. ``timeout`` is the longest silence in seconds, on top of what a long poll
    is held; a message is answered after up to about 30. ``transport``, ``sleep`` and ``clock`` are
    there to be replaced in tests. ``on_retry`` is called before a request is sent again, with the
    seconds until then and the reason in a few words. Every method may raise the errors of
    `agentpost_client.errors`.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        policy: RetryPolicy | None = None,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        on_retry: Callable[[float, str], object] | None = None,
    ) -> None:
        self._context = flows.Context(resolve_config(url, key), policy or RetryPolicy(), clock)
        self._timeout = timeout
        self._http = httpx2.Client(transport=transport)
        self._sleep = sleep
        self._on_retry = on_retry

    def send(
        self,
        message: str = "",
        files: Sequence[Sendable] = (),
        conversation: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        webhook_endpoint_id: str | None = None,
        upload_ids: Sequence[str] = (),
    ) -> Message:
        """Create a message and return it as the API answers, final or still processing.

        Local files travel inside the request; those too large or too many for it are uploaded
        first (`FileRefused` if that can't be either). ``upload_ids`` names finished uploads. An
        Idempotency-Key is made when none is given and kept over all tries, so a repeated try never
        starts work twice. With a key of your own, upload large files yourself and name their ids:
        each call would upload them anew, which makes it another message under the same key.
        While the agent is busy with another message the same request is sent again; if it stays
        busy, the message with ``reason: agent_busy`` is returned.
        """
        return self._run(
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

    def upload(self, file: Sendable) -> Upload:
        """Send a file of up to 500 MB ahead, in constant memory; name its id in ``upload_ids``.

        Raises `FileRefused`, and `ApiError` such as ``executable_refused``."""
        return self._run(flows.upload(self._context, file))

    def get(self, message_id: str, wait: int = 0) -> Message:
        """The message now, or after its next change within ``wait`` seconds (0 to 45)."""
        return self._run(flows.get(self._context, message_id, wait))

    def wait(self, message_id: str, timeout: float | None = None) -> Message:
        """The message once it is final; `WaitTimeout` after ``timeout`` seconds (None: never)."""
        return self._run(flows.wait(self._context, message_id, timeout))

    def follow(self, message_id: str, cursor: str | None = None, after: int = 0) -> Iterator[Entry]:
        """The entries of the message's log as they come, until nothing more can come.

        To go on where an earlier call stopped, give the ``cursor`` and, as ``after``, the ``seq``
        of the last entry you had: the cursor says where to read on, ``after`` leaves out what came
        on the same page before. Entries are kept for seven days.
        """
        return self._iterate(flows.follow(self._context, message_id, cursor, after))

    def me(self) -> Account:
        """The account the key belongs to."""
        return self._run(flows.me(self._context))

    def work(self, work_id: str, from_char: int = 0) -> Work:
        """A chat, with one page of its latest result text."""
        return self._run(flows.work(self._context, work_id, from_char))

    def work_list(self, limit: int = WORK_LIST_DEFAULT) -> tuple[WorkItem, ...]:
        """The account's newest chats, 1 to 50."""
        return self._run(flows.work_list(self._context, limit))

    def stop(self, work_id: str) -> Work:
        """Stop what runs in a chat; its files stay."""
        return self._run(flows.stop(self._context, work_id))

    def file(self, file_id: str) -> File:
        """A file's record with a fresh link."""
        return self._run(flows.file(self._context, file_id))

    def download(self, file: File | str, into: Path) -> Path:
        """Save a file (or the file with that id) and return where.

        ``into`` is a folder, or the path of the file to write, which is replaced in one step when
        all bytes are there. A stale link is renewed once. Raises `OSError` for the disk's trouble.
        """
        return self._run(flows.download(self._context, file, into))

    def close(self) -> None:
        """Release the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, flow: flows.Flow[T]) -> T:
        outcome: Any = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            outcome = self._carry_out(step)

    def _iterate(self, flow: flows.Flow[None]) -> Iterator[Entry]:
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
                outcome = self._carry_out(step)

    def _carry_out(self, step: flows.Step) -> Any:
        match step:
            case Call():
                return self._ask(step)
            case flows.Fetch():
                return self._fetch(step)
            case flows.Post():
                return self._post(step)
            case flows.Pause():
                if step.why and self._on_retry is not None:
                    self._on_retry(step.seconds, step.why)
                return self._sleep(step.seconds)
            case flows.Local():
                return step.call()
            case flows.Emit():
                raise AssertionError("only a followed flow emits")

    def _ask(self, call: Call) -> Answer | Fault:
        request = api_request(self._context.config, call, self._timeout)
        try:
            response = self._http.request(**request)
        except httpx2.RequestError as error:
            return read_fault(error)
        return read_answer(response, response.content)

    def _fetch(self, fetch: flows.Fetch) -> Answer | Fault:
        try:
            with self._http.stream(**link_request(fetch.url, self._timeout)) as response:
                if not response.is_success:
                    return read_answer(response, response.read())
                with PartialFile(fetch.target) as partial:
                    for chunk in response.iter_bytes(CHUNK_BYTES):
                        partial.write(chunk)
                    partial.keep()
                return read_answer(response, b"")
        except httpx2.RequestError as error:
            return read_fault(error)

    def _post(self, post: flows.Post) -> Answer | Fault:
        request = form_request(post.url, post.form, self._timeout)
        try:
            response = self._http.request(**request, content=post.form.chunks())
        except httpx2.RequestError as error:
            return read_fault(error)
        return read_answer(response, response.content)
