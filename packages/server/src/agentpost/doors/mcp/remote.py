"""The backend of a caller at a server somewhere else: calls of its HTTP API."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import anyio
import httpx2

from agentpost.cli.proxied_http import open_http
from agentpost.clock import SystemClock, new_id
from agentpost.contract.errors import CATALOGUE, in_words
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem
from agentpost.domain.limits import WAIT_SECONDS_MAX
from agentpost.doors.mcp.backend import BackendError, Change, Json
from agentpost.doors.writing import read
from agentpost_client.sse import MEDIA_TYPE, EventLines, Lines

_SECONDS_MAX: Final = 90.0
"""For an answer; the server holds some for 45 seconds."""
_TRIES: Final = 3
_PAUSE_SECONDS: Final = 1.0
_ENDINGS: Final = frozenset({"result", "turn_failed", "turn_busy"})
_ADVICE: Final = {code.value: CATALOGUE[code].advice for code in ErrorCode}


class _NoStream(Exception):
    """The message has no event stream: it is not there, or a proxy keeps it back."""


class HttpBackend:
    """See `Backend`. ``url`` has no path; the key is sent to the API only. Raises `ConfigError`
    for a proxy of the environment that cannot be used."""

    def __init__(
        self, url: str, key: str, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._url = url
        headers = {"Authorization": f"Bearer {key}", "User-Agent": "agentpost-mcp"}
        open_client = partial(
            open_http, httpx2.AsyncClient, url, timeout=_SECONDS_MAX, transport=transport
        )
        self._api = open_client(base_url=url, headers=headers)
        self._links = open_client()

    async def aclose(self) -> None:
        """Release the connections."""
        await self._api.aclose()
        await self._links.aclose()

    async def send(self, fields: Json, idempotency_key: str | None) -> Json:
        # Kept over the tries: it is sent once.
        key = idempotency_key or new_id("mcp_", SystemClock().now())
        headers = {"Idempotency-Key": key}
        return await self._call("POST", "/v1/messages", json=fields, headers=headers)

    async def message(self, message_id: str) -> Json:
        return await self._call("GET", f"/v1/messages/{_segment(message_id)}")

    async def entries(self, message_id: str) -> list[Json]:
        message = await self.message(message_id)
        if not message["jobs"] and message["status"] != "failed":
            return []  # its log says nothing more; reading one is counted
        endings: list[Json] = []
        cursor: str | None = None
        more = True
        while more:
            page = await self._page(message_id, cursor, 0)
            endings += [entry for entry in page["data"] if entry["type"] in _ENDINGS]
            cursor, more = page["cursor"], page["has_more"]
        return endings

    async def changes(self, message_id: str) -> AsyncGenerator[Change, None]:
        """See `Backend`; from the event stream, or by polls where there is none."""
        cursor: str | None = None
        for _ in range(_TRIES):
            try:
                async with aclosing(self._stream(message_id, cursor)) as events:
                    async for place, change in events:
                        cursor = place
                        yield change
                        if await self._is_blocked(message_id, change):
                            return
                return
            except _NoStream:
                break
            except httpx2.RequestError:
                await anyio.sleep(_PAUSE_SECONDS)
        async with aclosing(self._poll(message_id, cursor)) as changes:
            async for change in changes:
                yield change

    async def _stream(
        self, message_id: str, cursor: str | None
    ) -> AsyncGenerator[tuple[str | None, Change], None]:
        """What the event stream has behind a cursor, each with the cursor behind it. Raises
        `_NoStream`, and `httpx2.RequestError` when it is cut off."""
        path = f"/v1/messages/{_segment(message_id)}/stream"
        headers = {"Accept": MEDIA_TYPE, **({"Last-Event-ID": cursor} if cursor else {})}
        async with self._api.stream("GET", path, headers=headers) as answer:
            if not (answer.is_success and MEDIA_TYPE in answer.headers.get("content-type", "")):
                raise _NoStream
            lines, events = Lines(), EventLines()
            async for data in answer.aiter_bytes():
                for line in lines.feed(data):
                    event = events.feed(line)
                    if event is None:
                        if line.startswith(":"):
                            yield cursor, Change()
                        continue
                    cursor = event.id or cursor
                    if event.name == "end":
                        return
                    if event.name in ("delta", "reset"):
                        piece = json.loads(event.data)
                        reset = {"reset": True} if event.name == "reset" else {}
                        yield cursor, Change(texts=[read(json.dumps({**piece, **reset}))])
                    elif event.id and event.data:
                        yield cursor, Change(entries=[json.loads(event.data)])
        raise httpx2.RemoteProtocolError("the stream ended")

    async def _poll(self, message_id: str, cursor: str | None) -> AsyncGenerator[Change, None]:
        while True:
            page = await self._page(message_id, cursor, min(15, WAIT_SECONDS_MAX))
            cursor = page["cursor"]
            change = Change(page["data"])
            yield change
            if page["done"] or await self._is_blocked(message_id, change):
                return

    async def _is_blocked(self, message_id: str, change: Change) -> bool:
        """Whether only credits can move the message on; asked when that may have changed."""
        kinds = {entry["type"] for entry in change.entries}
        if change.texts or (kinds and not kinds & {"result", "state"}):
            return False
        message = await self.message(message_id)
        return bool(message["status"] == "blocked")

    async def stop(self, message_id: str) -> None:
        await self._call("POST", f"/v1/messages/{_segment(message_id)}/cancel")

    async def recover(self, message_id: str) -> Json:
        return await self._call("POST", f"/v1/messages/{_segment(message_id)}/recover")

    async def messages(self, conversation: str | None, before: str | None, limit: int) -> Json:
        options = {"conversation": conversation, "before": before, "limit": limit}
        return await self._call("GET", "/v1/messages", params=_present(options))

    async def works(self, before: str | None, limit: int) -> Json:
        options = {"before": before, "limit": limit}
        return await self._call("GET", "/v1/work", params=_present(options))

    async def work(self, work_id: str, from_char: int) -> Json:
        path = f"/v1/work/{_segment(work_id)}"
        return await self._call("GET", path, params={"from_char": from_char})

    async def stop_work(self, work_id: str) -> Json:
        return await self._call("POST", f"/v1/work/{_segment(work_id)}/stop")

    async def file(self, file_id: str) -> Json:
        return await self._call("GET", f"/v1/files/{quote(file_id, safe='/')}")

    async def content(self, file_id: str) -> bytes:
        link = (await self.file(file_id))["url"]
        try:
            answer = await self._links.get(link, follow_redirects=True)
        except httpx2.RequestError as error:
            raise _no_answer(error) from None
        if not answer.is_success:
            raise _refusal(answer)
        return answer.content

    async def _page(self, message_id: str, cursor: str | None, wait: int) -> Json:
        """A page of the log; another reader of it is waited for."""
        path = f"/v1/messages/{_segment(message_id)}/events"
        params: Json = {"wait": wait, **({"cursor": cursor} if cursor else {})}
        while True:
            try:
                return await self._call("GET", path, params=params)
            except BackendError as error:
                if error.code != ErrorCode.POLL_IN_PROGRESS:
                    raise
                await anyio.sleep(_PAUSE_SECONDS)

    async def _call(self, method: str, path: str, **request: Any) -> Json:
        """A call, tried again when the network or the server fails."""
        for left in reversed(range(_TRIES)):
            try:
                answer = await self._api.request(method, path, **request)
            except httpx2.RequestError as error:
                if not left:
                    raise _no_answer(error) from None
            else:
                if answer.is_success:
                    return _object(answer)
                if answer.status_code not in (500, 503) or not left:
                    raise _refusal(answer)
            await anyio.sleep(_PAUSE_SECONDS)
        raise AssertionError("the last try answers or raises")


def _present(options: Json) -> Json:
    return {name: value for name, value in options.items() if value is not None}


def _object(answer: httpx2.Response) -> Json:
    try:
        value = answer.json()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BackendError(
            "internal", "The answer is not one of this API's.", "Check AGENTPOST_URL."
        )
    return value


def _refusal(answer: httpx2.Response) -> BackendError:
    try:
        body = answer.json()
        code, message = str(body["error"]), str(body["message"])
        problems = [Problem(each["field"], each["problem"]) for each in body.get("problems", ())]
    except (ValueError, KeyError, TypeError):
        text = f"The server answered {answer.status_code}, not as this API does."
        return BackendError("internal", text, "Check AGENTPOST_URL.")
    if problems:
        return BackendError(code, *in_words(InvalidRequest(*problems)))
    advice = _ADVICE.get(code, "")
    if wait := answer.headers.get("retry-after"):
        advice = f"Try again in {wait} seconds."
    return BackendError(code, message, advice)


def _no_answer(error: httpx2.RequestError) -> BackendError:
    problem = str(error) or type(error).__name__
    text = f"The server gives no answer: {problem}."
    return BackendError("unavailable", text, "Check that it runs, and AGENTPOST_URL.")


def _segment(text: str) -> str:
    return quote(text, safe="")
