"""Refusals in the shape that OpenAI's clients read."""

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.api.errors import error_headers
from agentpost.contract.errors import CATALOGUE, in_words
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal
from agentpost.http.request_state import state_of

_OTHER_NAMES: Final = {
    ErrorCode.UNAUTHORIZED: "invalid_api_key",
    ErrorCode.RATE_LIMITED: "rate_limit_exceeded",
    ErrorCode.INTERNAL: "server_error",
}
"""Codes that OpenAI's API has a name of its own for; the others keep theirs."""
RETRIED: Final = frozenset({ErrorCode.RATE_LIMITED, ErrorCode.INTERNAL, ErrorCode.UNAVAILABLE})
"""What is worth sending again unchanged. The clients would repeat every 409 besides."""


class NotInThisApi(InvalidRequest):
    """A parameter that would change what the call means, and that nothing here can keep."""

    def __init__(self, code: str, param: str, problem: str) -> None:
        super().__init__(Problem(param, problem))
        self.openai_code = code


def unsupported_value(param: str, problem: str) -> NotInThisApi:
    """A value that OpenAI's API knows."""
    return NotInThisApi("unsupported_value", param, problem)


def wrong(param: str, problem: str) -> InvalidRequest:
    """A parameter that is not what it has to be."""
    return InvalidRequest(Problem(param, problem))


def kind_of(code: ErrorCode) -> str:
    """The `type` of an error, by which people sort them."""
    if code is ErrorCode.RATE_LIMITED:
        return "requests"
    return "server_error" if CATALOGUE[code].status >= 500 else "invalid_request_error"


def code_of(refusal: Refusal) -> str:
    """The `code` of an error, on which programs branch."""
    if isinstance(refusal, NotInThisApi):
        return refusal.openai_code
    return _OTHER_NAMES.get(refusal.code, refusal.code.value)


def openai_error(docs_url: str, request: Request, refusal: Refusal) -> Response:
    """The response to a refused request; ``x-should-retry`` is what OpenAI's clients go by."""
    first = refusal.problems[0] if isinstance(refusal, InvalidRequest) else None
    headers = {
        "x-request-id": state_of(request.scope).id,
        "x-should-retry": "true" if refusal.code in RETRIED else "false",
        **error_headers(refusal),
    }
    error = {
        "message": " ".join(in_words(refusal)).strip(),
        "type": kind_of(refusal.code),
        "param": first.field if first else None,
        "code": code_of(refusal),
        "docs": f"{docs_url}#{refusal.code}",
    }
    return JSONResponse({"error": error}, CATALOGUE[refusal.code].status, headers)
