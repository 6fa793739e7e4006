"""JSON-RPC 2.0, which MCP and Agent2Agent speak: a request, and how it is refused before the SDK of
the protocol has it."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.accounts import scope_rules
from agentpost.accounts.scope_rules import Scope
from agentpost.api.body import has_too_many_values, in_turn
from agentpost.api.errors import error_headers
from agentpost.api.long_texts import LongText, TakenApart
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.contract.errors import CATALOGUE, in_words
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal
from agentpost.domain.limits import RPC_CALL_BYTES_MAX, RPC_VALUES_MAX
from agentpost.doors import bodies
from agentpost.doors.bodies import NotJson
from agentpost.http.pipeline import report_fault
from agentpost.http.request_state import RequestState, state_of

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_INTERNAL_ERROR: Final = -32603
OURS: Final = frozenset({ErrorCode.INTERNAL, ErrorCode.UNAVAILABLE, ErrorCode.RATE_LIMITED})
"""Refusals that say nothing against the request: it may be sent again unchanged."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call: its JSON, as bytes and as an object. ``contents`` has those of large files, by what
    stands for them there: base64 as well, and unlike all that a caller can send."""

    body: bytes
    fields: dict[str, Any]
    contents: Mapping[str, LongText]


async def read(api: Api, request: Request, caller: Caller, files_at: re.Pattern[str]) -> Call:
    """The call that a body is, bounded in its size and values before the SDK reads it.

    The request counts as one that only reads until the call has changed something.

    ``files_at``: the places of the contents of files (``params.arguments.files.0.base64``).

    Raises as `bodies.read_json`, and ``invalid_request`` for what is no call.
    """
    state_of(request.scope).reads = True
    data = await bodies.read_json(api, request, caller)
    call = await in_turn(api, request, data, partial(_call, data, files_at))
    problems = list(_problems(call.fields))
    if problems:
        raise InvalidRequest(*problems)
    return call


def _call(data: bytearray | TakenApart, files_at: re.Pattern[str]) -> Call:
    fields = bodies.parse_body(data, files_at, RPC_CALL_BYTES_MAX)
    rest = data.rest if isinstance(data, TakenApart) else data
    if has_too_many_values(rest, RPC_VALUES_MAX):
        problem = f"has over {RPC_VALUES_MAX:,} values; send data as a file"
        raise InvalidRequest(Problem("params", problem))
    if not isinstance(data, TakenApart):
        return Call(bytes(data), fields, {})
    contents: dict[str, LongText] = {}

    def stand_in(text: LongText) -> str:
        name = f"{new_id('file_', 0)}{len(contents)}".encode()
        contents[stand_in := base64.b64encode(name).decode("ascii")] = text
        return stand_in

    body = json.dumps(fields, default=stand_in).encode()
    return Call(body, json.loads(body), contents)


def _problems(call: dict[str, Any]) -> Iterator[Problem]:
    """Why an object is no call, and no answer to one either."""
    if call.get("jsonrpc") != "2.0":
        yield Problem("jsonrpc", 'must be "2.0"')
    is_answer = "method" not in call and ("result" in call or "error" in call)
    if not (is_answer or isinstance(call.get("method"), str)):
        yield Problem("method", "must be a text")
    if not isinstance(call.get("id", ""), str | int) or isinstance(call.get("id"), bool):
        yield Problem("id", "must be a text or a whole number")
    if not isinstance(call.get("params", {}), dict):
        yield Problem("params", "must be an object")


@contextmanager
def refusals_as(
    error_of: Callable[[Refusal], Exception],
    own: type[Exception],
    state: RequestState,
    caller: Caller,
    scope: Scope,
) -> Iterator[None]:
    """Ask for a scope of the key, and raise a refusal as the protocol says it, of which the request
    log learns. An SDK would give the text of a fault to the client. ``own``: the errors of the
    protocol, which pass."""
    try:
        scope_rules.check(caller.scopes, scope)
        yield
    except own:
        raise
    except Exception as fault:
        refusal = fault if isinstance(fault, Refusal) else report_fault(fault, state.id, "POST")
        state.error = refusal.code
        raise error_of(refusal) from None


def rpc_error(malformed_status: int, docs_url: str, request: Request, refusal: Refusal) -> Response:
    """The response to a refused request; its ``data`` has our error code and what to do.
    ``malformed_status``: the HTTP status when the body is no call. The other refusals have the
    status of the API."""
    text, advice = in_words(refusal)
    code = _INTERNAL_ERROR if refusal.code in OURS else _INVALID_REQUEST
    error = {
        "code": _PARSE_ERROR if isinstance(refusal, NotJson) else code,
        "message": f"{text} {advice}".strip(),
        "data": {
            "error": refusal.code.value,
            "advice": advice,
            "request_id": state_of(request.scope).id,
            "docs": f"{docs_url}#{refusal.code}",
        },
    }
    is_malformed = isinstance(refusal, InvalidRequest)
    status = malformed_status if is_malformed else CATALOGUE[refusal.code].status
    body = {"jsonrpc": "2.0", "id": None, "error": error}
    return JSONResponse(body, status, error_headers(refusal))
