"""Read the body of a request in another protocol: bounded in size, time and number of values.

The contents of files are megabytes of base64. They are set aside while the body arrives, as those
of the API are (`api.long_texts`): what parses the rest, an SDK on the event loop for one, has a
short body. A `FileText` stands for the contents of a file.
"""

import base64
import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request

from agentpost.accounts import admission
from agentpost.api import body as api_body
from agentpost.api.body import has_too_many_values, put_back
from agentpost.api.long_texts import LongText, TakenApart
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.domain.errors import InvalidRequest, Problem, Refusal
from agentpost.domain.limits import BODY_VALUES_MAX, DOOR_BODY_BYTES_MAX, PROBLEMS_MAX
from agentpost.http.bodies import (
    COUNTED_BYTES,
    LARGE_BYTES,
    BodySlot,
    Pace,
    TooSlow,
    chunks,
    declared_length,
)
from agentpost.http.headers import header
from agentpost.http.request_state import state_of
from agentpost.requests.redaction import LargeBody

Data = TypeVar("Data")


async def read_form(api: Api, request: Request, caller: Caller) -> list[bytes]:
    """The body of a form, in pieces of moderate size; otherwise as `read_json`."""

    async def receive(slot: BodySlot, most: int) -> tuple[list[bytes], int]:
        pieces: list[bytes] = []
        size, pace = 0, Pace()
        async for chunk in chunks(request, api.ctx.settings.body_idle_seconds):
            pieces.append(chunk)
            was_large, size = size > LARGE_BYTES, size + len(chunk)
            if size > most:
                raise api_body.too_large(most)
            if size > LARGE_BYTES and not was_large:
                await slot.acquire()
            if size > COUNTED_BYTES:
                await slot.count()
            if size > LARGE_BYTES:
                await pace.keep(size)
        return pieces, size

    return await _read(api, request, caller, receive)


async def read_json(api: Api, request: Request, caller: Caller) -> bytearray | TakenApart:
    """The body of a request in JSON; the key was checked before.

    A large one takes a place among the large bodies while it arrives, and counts when it is
    refused, as those of the API do. The request log keeps its size only. Raises ``too_large``,
    ``invalid_request``, ``rate_limited`` and ``unavailable``.
    """

    async def receive(slot: BodySlot, most: int) -> tuple[bytearray | TakenApart, int]:
        idle_seconds = api.ctx.settings.body_idle_seconds
        data = await api_body.receive(request, most, slot, idle_seconds)
        logged = state_of(request.scope).body
        return data, logged.size if isinstance(logged, LargeBody) else len(logged)

    return await _read(api, request, caller, receive)


async def _read(
    api: Api,
    request: Request,
    caller: Caller,
    receive: Callable[[BodySlot, int], Awaitable[tuple[Data, int]]],
) -> Data:
    most = min(DOOR_BODY_BYTES_MAX, api.ctx.settings.body_bytes_max)
    coding = header(request, b"content-encoding")
    if coding is not None and coding.strip().lower() != "identity":
        raise _wrong("the body must be sent as it is, without a Content-Encoding")
    if (declared_length(request) or 0) > most:
        raise api_body.too_large(most)
    count = partial(admission.large_body, api.ctx, caller)
    async with BodySlot(api.body_budget, caller.account_id, count) as slot:
        try:
            data, size = await receive(slot, most)
        except TooSlow as problem:
            raise _wrong(str(problem)) from None
    state_of(request.scope).body = LargeBody(size)
    await api.keys.caller(request)  # a body may take minutes: the key is still live
    return data


class NotJson(InvalidRequest):
    """A body that is no JSON."""

    def __init__(self, problem: str) -> None:
        super().__init__(Problem(None, problem))


class FileText(str):
    """Stands in a body for the ``contents`` of a file. As a text it is base64 as well, and unlike
    all that a caller can send."""

    contents: LongText


class FileTexts:
    """Puts the long texts of one body back: the contents of files as `FileText`, all others whole.

    Args:
        at: the places of the contents of files (``files.0.base64``).
        most: how large the body may be without these contents, in bytes.
    """

    def __init__(self, at: re.Pattern[str], most: int) -> None:
        self._at = at
        self.most = most
        self._size = 0
        self._by_text: dict[str, FileText] = {}

    def contents(self, text: str) -> str | LongText:
        """The contents that a text of the body stands for; other texts are their own."""
        file_text = self._by_text.get(text)
        return text if file_text is None else file_text.contents

    def as_field(self, where: str, text: LongText) -> str:
        """What stands at that place for a text; raises ``invalid_request`` for too many of them."""
        if not self._at.fullmatch(where):
            self.count(len(text))
            return "".join(text.pieces())
        name = f"{new_id('file_', 0)}{len(self._by_text)}".encode()
        stand_in = FileText(base64.b64encode(name).decode("ascii"))
        stand_in.contents = text
        self._by_text[stand_in] = stand_in
        return stand_in

    def count(self, size: int) -> None:
        """So many bytes more besides files; raises ``invalid_request`` for too many."""
        self._size += size
        if self._size > self.most:
            raise _wrong(f"the body is over {self.most:,} bytes besides the contents of files")


def parse_body(data: bytearray | TakenApart, texts: FileTexts) -> dict[str, Any]:
    """The JSON object of a body; raises ``invalid_request``, for one without JSON `NotJson`."""
    rest: bytearray
    if isinstance(data, TakenApart):
        rest = data.rest
        texts.count(len(rest))
    else:
        rest = data
    if has_too_many_values(rest):
        raise _wrong(f"the body holds more than {BODY_VALUES_MAX:,} values")
    try:
        value = json.loads(rest)
    except RecursionError:
        raise NotJson("the body is nested too deeply") from None
    except ValueError:
        raise NotJson("the body is not valid JSON") from None
    if not isinstance(value, dict):
        raise _wrong("the body must be a JSON object")
    if isinstance(data, TakenApart):
        problems: list[Problem] = []
        put_back(value, "", 0, data.texts, problems, texts.as_field)
        if problems:
            raise InvalidRequest(*problems[:PROBLEMS_MAX])
    return value


def _wrong(problem: str) -> Refusal:
    return InvalidRequest(Problem(None, problem))
