"""Read the body of a request in another protocol: bounded in size, time and number of values.

The contents of files are megabytes of base64. They are set aside while the body arrives, as those
of the API are (`api.long_texts`): what parses the rest, an SDK on the event loop for one, has a
short body.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.requests import Request

from agentpost.accounts import admission
from agentpost.api.body import Large, LongTexts, has_too_many_values, read_body
from agentpost.api.long_texts import LongText, TakenApart
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.contract.validation import refuse
from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.domain.limits import BODY_VALUES_MAX, DOOR_BODY_BYTES_MAX, PROBLEMS_MAX
from agentpost.http.bodies import BodySlot
from agentpost.http.request_state import state_of
from agentpost.requests.redaction import LargeBody


async def read(
    api: Api, request: Request, caller: Caller, begin_large: Callable[[], Large]
) -> bytearray | Large:
    """`api.body.read_body`; the key was checked before.

    A large one takes a place among the large bodies while it arrives, and counts when it is
    refused, as those of the API do. The request log keeps its size only.
    """
    most = min(DOOR_BODY_BYTES_MAX, api.ctx.settings.body_bytes_max)
    count = partial(admission.large_body, api.ctx, caller)
    async with BodySlot(api.body_budget, caller.account_id, count) as slot:
        data, size = await read_body(api, request, most, slot, begin_large)
    state_of(request.scope).body = LargeBody(size)
    return data


async def read_json(api: Api, request: Request, caller: Caller) -> bytearray | TakenApart:
    """`read` for a body in JSON."""
    data = await read(api, request, caller, lambda: TakenApart(new_id("text_", 0)))
    if isinstance(data, TakenApart):
        data.end()
    return data


class NotJson(InvalidRequest):
    """A body that is no JSON."""

    def __init__(self, problem: str) -> None:
        super().__init__(Problem(None, problem))


def parse_body(
    data: bytearray | TakenApart, files_at: re.Pattern[str], most: int
) -> dict[str, Any]:
    """The JSON object of a body; raises ``invalid_request``, for one without JSON `NotJson`.

    Args:
        files_at: the places of the contents of files (``files.0.base64``), which are a `LongText`
            where they are long.
        most: how large the body may be without these contents, in bytes.
    """
    rest = data.rest if isinstance(data, TakenApart) else data
    size = len(rest) if isinstance(data, TakenApart) else 0

    def as_field(where: str, text: LongText) -> LongText | str:
        nonlocal size
        if files_at.fullmatch(where):
            return text
        size += len(text)
        check_size()
        return "".join(text.pieces())

    def check_size() -> None:
        if size > most:
            refuse(None, f"the body is over {most:,} bytes besides the contents of files")

    check_size()
    if has_too_many_values(rest):
        refuse(None, f"the body holds more than {BODY_VALUES_MAX:,} values")
    try:
        value = json.loads(rest)
    except RecursionError:
        raise NotJson("the body is nested too deeply") from None
    except ValueError:
        raise NotJson("the body is not valid JSON") from None
    if not isinstance(value, dict):
        refuse(None, "the body must be a JSON object")
    if isinstance(data, TakenApart):
        texts = LongTexts(data.texts, as_field)
        texts.put_back(value)
        if texts.problems:
            raise InvalidRequest(*texts.problems[:PROBLEMS_MAX])
    return value
