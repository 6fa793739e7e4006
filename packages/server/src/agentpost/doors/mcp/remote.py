"""The backend of a caller at a server somewhere else: calls of its HTTP API, by the client."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio

from agentpost.clock import SystemClock, new_id
from agentpost.contract.errors import in_words
from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.domain.limits import STREAM_KEEP_ALIVE_SECONDS
from agentpost.doors.mcp.backend import ROUTES, BackendError, Change, Json
from agentpost.doors.writing import Said
from agentpost_client import (
    AgentpostError,
    ApiError,
    AsyncClient,
    ConnectionFailed,
    Entry,
    RetryPolicy,
    TextDelta,
    TextReset,
)
from agentpost_client.records import Record
from agentpost_client.requests import call

_SECONDS_MAX: Final = 90.0
"""For an answer; the server holds some for 45 seconds."""
_RETRIES: Final = RetryPolicy(retries=2, retry_after_max=5.0)
"""An assistant hears of a longer pause, and decides itself what to do meanwhile."""
_OTHER_SERVER: Final = "Check AGENTPOST_URL."


class _Client(AsyncClient):
    """The client, with any call of the API."""

    async def call(self, method: str, *path: str, **parts: Any) -> Json:
        """The answer to a `call`, as it is."""
        with _refusals_translated():
            return dict((await self._transport.ask(call(method, *path, **parts), Record)).raw)


class HttpBackend:
    """See `Backend`. ``url`` has no path; the key is sent to the API only. Raises `ConfigError`
    for a proxy of the environment that cannot be used."""

    def __init__(self, url: str, key: str) -> None:
        self._client = _Client(url, key, timeout=_SECONDS_MAX, policy=_RETRIES)

    async def aclose(self) -> None:
        """Release the connections."""
        await self._client.aclose()

    async def ask(self, operation: str, *path: str, **query: str | int | None) -> Json:
        method, _, route = ROUTES[operation].partition(" ")
        ids = iter(path)
        parts = [next(ids) if part == "{}" else part for part in route.split("/")]
        if operation == "getFile":  # its id has slashes
            parts[1:] = parts[1].split("/")
        return await self._client.call(method, *parts, query=query)

    async def send(self, fields: Json, idempotency_key: str | None) -> Json:
        # Kept over the tries: it is sent once.
        key = idempotency_key or new_id("mcp_", SystemClock().now())
        headers = {"Idempotency-Key": key}
        return await self._client.call("POST", "messages", body=fields, headers=headers)

    async def messages(self, conversation: str | None, before: str | None, limit: int) -> Json:
        query = {"conversation": conversation, "before": before, "limit": limit}
        return await self._client.call("GET", "messages", query=query)

    async def changes(self, message_id: str) -> AsyncGenerator[Change, None]:
        """See `Backend`; from the event stream, or by polls where there is none."""
        parts = self._client.messages.stream(message_id)
        coming: asyncio.Future[Entry | TextDelta | TextReset | None] | None = None
        try:
            with _refusals_translated():
                while True:
                    coming = coming or asyncio.ensure_future(anext(parts, None))
                    await asyncio.wait({coming}, timeout=STREAM_KEEP_ALIVE_SECONDS)
                    change = Change()
                    if coming.done():
                        part, coming = coming.result(), None
                        if part is None:
                            return
                        change = _change(part)
                    yield change
                    if await self._is_blocked(message_id, change):
                        return
        finally:
            with anyio.CancelScope(shield=True):
                if coming is not None:
                    coming.cancel()
                    await asyncio.wait({coming})
                await parts.aclose()

    async def _is_blocked(self, message_id: str, change: Change) -> bool:
        """Whether only credits can move the message on; asked when that may have changed."""
        kinds = {entry["type"] for entry in change.entries}
        if change.texts or (kinds and not kinds & {"result", "state"}):
            return False
        message = await self.ask("getMessage", message_id)
        return bool(message["status"] == "blocked")

    async def content(self, file_id: str) -> bytes:
        with _refusals_translated():
            return await self._client.files.read(file_id)


def _change(part: Entry | TextDelta | TextReset) -> Change:
    match part:
        case Entry():
            return Change(entries=[dict(part.raw)])
        case TextReset():
            return Change(texts=[Said(part.job_id or part.raw.get("message_id"), reset=True)])
    source = part.job_id or part.raw.get("message_id")
    return Change(texts=[Said(source, part.offset, part.text)])


@contextmanager
def _refusals_translated() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        raise _refusal(error) from None
    except ConnectionFailed as error:
        text = f"The server gives no answer: {error.problem}."
        raise BackendError("unavailable", text, "Check that it runs, and AGENTPOST_URL.") from None
    except AgentpostError:
        text = "The answer is not one of this API's."
        raise BackendError("internal", text, _OTHER_SERVER) from None


def _refusal(error: ApiError) -> BackendError:
    if error.code.startswith("http_"):
        text = f"The server answered {error.status}, not as this API does."
        return BackendError("internal", text, _OTHER_SERVER)
    if error.problems:
        problems = [Problem(each.field, each.problem) for each in error.problems]
        return BackendError(error.code, *in_words(InvalidRequest(*problems)))
    wait = error.retry_after
    advice = error.hint if wait is None else f"Try again in {wait:g} seconds."
    return BackendError(error.code, error.message, advice)
