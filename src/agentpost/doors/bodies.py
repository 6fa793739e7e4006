"""Read the JSON of a request in another protocol: bounded in size, time and number of values."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from agentpost.api.body import has_too_many_values
from agentpost.api.operation import Api
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal
from agentpost.domain.limits import BODY_VALUES_MAX, DOOR_BODY_BYTES_MAX
from agentpost.http.bodies import COUNTED_BYTES, LARGE_BYTES, TooSlow, chunks, declared_length
from agentpost.http.headers import header
from agentpost.http.request_state import state_of
from agentpost.ratelimit.base import RateDecision
from agentpost.services import admission
from agentpost.services.messages import Caller
from agentpost.services.redaction import LargeBody


async def read(api: Api, request: Request, caller: Caller) -> bytes:
    """The body; the key was checked before.

    A large one takes a place among the large bodies while it arrives, and counts when it is
    refused, as those of the API do. The request log keeps its size only. Raises ``too_large``,
    ``invalid_request``, ``rate_limited`` and ``unavailable``.
    """
    most = min(DOOR_BODY_BYTES_MAX, api.ctx.settings.body_bytes_max)
    coding = header(request, b"content-encoding")
    if coding is not None and coding.strip().lower() != "identity":
        raise _wrong("the body must be sent as it is, without a Content-Encoding")
    if (declared_length(request) or 0) > most:
        raise _too_large(most)
    decisions: list[RateDecision] = []

    async def count() -> None:
        decisions.append(await admission.large_body(api.ctx, caller))

    body = bytearray()
    async with api.body_budget.slot(caller.account_id, count) as slot:
        is_large = False
        try:
            async for chunk in chunks(request, api.ctx.settings.body_idle_seconds):
                body += chunk
                if len(body) > most:
                    raise _too_large(most)
                if len(body) > LARGE_BYTES and not is_large:
                    is_large = True
                    await slot.acquire()
                if len(body) > COUNTED_BYTES:
                    await slot.count()
        except TooSlow as problem:
            raise _wrong(str(problem)) from None
    for decision in decisions:
        await admission.not_refused(api.ctx, caller, decision)
    state_of(request.scope).body = LargeBody(len(body))
    await api.keys.caller(request)  # a body may take minutes: the key is still live
    return bytes(body)


class NotJson(InvalidRequest):
    """A body that is no JSON."""

    def __init__(self, problem: str) -> None:
        super().__init__(Problem(None, problem))


def parsed(data: bytes) -> dict[str, Any]:
    """The JSON object of a body; raises ``invalid_request``, for one without JSON `NotJson`."""
    if has_too_many_values(data):
        raise _wrong(f"the body holds more than {BODY_VALUES_MAX:,} values")
    try:
        value = json.loads(data)
    except RecursionError:
        raise NotJson("the body is nested too deeply") from None
    except ValueError:
        raise NotJson("the body is not valid JSON") from None
    if not isinstance(value, dict):
        raise _wrong("the body must be a JSON object")
    return value


def _wrong(problem: str) -> Refusal:
    return InvalidRequest(Problem(None, problem))


def _too_large(most: int) -> Refusal:
    return Refusal(
        ErrorCode.TOO_LARGE,
        f"The body is over {most:,} bytes; send large files with POST /v1/uploads.",
    )
