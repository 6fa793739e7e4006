"""Requests out, answers in: pure functions and the small values both clients share.

`Call` says what to ask; an `Answer` or a `Fault` is what came of it. Nothing here does any I/O.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import quote, urlsplit

from agentpost_client.config import Config
from agentpost_client.errors import (
    AgentpostError,
    ApiError,
    BadAnswer,
    ConnectionFailed,
    RequestTimeout,
    error_class,
)
from agentpost_client.form import FileForm
from agentpost_client.models import ErrorBody
from agentpost_client.records import Record, WrongShape
from agentpost_client.version import __version__

CONNECT_SECONDS = 5.0
SILENCE_SECONDS_MAX = 10.0**6
"""Systems have no timers of more than 24 days: a longer silence is cut to this."""
CHUNK_BYTES = 2**18
"""Of a download, held in memory and written at once."""
NOT_MODIFIED = 304
HTTP_LIBRARIES = frozenset({"httpcore2", "httpx2", "httpx"})
BREAKS = frozenset({"NetworkError", "RemoteProtocolError", "ProxyError"})
"""Failures that can pass."""
FAILURES = frozenset({"ProtocolError", "UnsupportedProtocol", "RequestError"})
"""Those that cannot; of httpx2, every failure of a request is a RequestError."""
USER_AGENT = f"agentpost-python/{__version__}"

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the API, sent unchanged however often it is tried.

    ``hold_seconds`` is how long the server may keep the answer back on purpose (a long poll).
    ``repeatable`` tells whether sending it twice does the same as once (spec: Retry safety).
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hold_seconds: float = 0
    repeatable: bool = True

    @property
    def name(self) -> str:
        """What logs call it: no body and no query, which may hold what is nobody's business."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer read to its end; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_final(self) -> bool:
        """Whether nothing is left to try: a success, or that nothing is newer than what the caller
        of the API has."""
        return self.is_success or self.status == NOT_MODIFIED

    @property
    def request_id(self) -> str | None:
        return self.headers.get("request-id")

    @property
    def retry_after(self) -> float | None:
        """Seconds, or None when the header is missing or not a plain number."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdigit() else None


@dataclass(frozen=True, slots=True)
class Fault:
    """No answer. ``passing`` is false when trying again cannot help; ``is_timeout`` is true when
    it was the time that ran out."""

    problem: str
    passing: bool = True
    is_timeout: bool = False
    brief: str = "server unreachable"


class Head(Protocol):
    """What an answer of an HTTP client begins with; the headers are a mapping that ignores case."""

    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def is_success(self) -> bool: ...


class NoAnswer(Exception):
    """A request that failed, and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.problem)
        self.fault = fault


class Timeout(NamedTuple):
    """Seconds of each phase, in the order in which httpx2 takes them too."""

    connect: float
    read: float
    write: float
    pool: float


def path_to(*segments: str) -> str:
    """``/v1/...`` with every segment quoted."""
    return "/v1/" + "/".join(quote(segment, safe="") for segment in segments)


def json_body(value: Mapping[str, Any]) -> bytes:
    """UTF-8 JSON; raises `ValueError` for what JSON cannot carry, such as a lone surrogate."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def api_request(config: Config, call: Call, timeout_seconds: float) -> dict[str, Any]:
    """The arguments of an HTTP client's ``request`` for a call. The key goes to the API only, never
    along with a file link, so it is no default of the HTTP client."""
    headers = {"Authorization": f"Bearer {config.key}", "User-Agent": USER_AGENT, **call.headers}
    if call.body is not None:
        headers["Content-Type"] = "application/json"
    return {
        "method": call.method,
        "url": config.url + call.path,
        "params": dict(call.query) or None,
        "content": call.body,
        "headers": headers,
        "timeout": timeout(call.hold_seconds + timeout_seconds),
        "follow_redirects": False,
    }


def stream_request(config: Config, call: Call, silence_seconds: float) -> dict[str, Any]:
    """The arguments of an HTTP client's ``stream`` for a call that answers with an event stream."""
    request = api_request(config, call, silence_seconds)
    request["headers"] = {**request["headers"], "Accept": "text/event-stream"}
    return request


def link_request(url: str, timeout_seconds: float) -> dict[str, Any]:
    """The arguments of an HTTP client's ``stream`` for a file link: no key, bytes as they are."""
    return {
        "method": "GET",
        "url": url,
        "headers": {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
        "timeout": timeout(timeout_seconds),
        "follow_redirects": True,
    }


def form_request(url: str, form: FileForm, timeout_seconds: float) -> dict[str, Any]:
    """The arguments of an HTTP client's ``request`` for an upload's form, without its content: no
    key."""
    return {
        "method": "POST",
        "url": url,
        "headers": {"User-Agent": USER_AGENT, **form.headers},
        "timeout": timeout(timeout_seconds),
        "follow_redirects": False,
    }


def timeout(seconds: float) -> Timeout:
    """A silence of that many seconds is a fault; connecting has its own, shorter limit."""
    silence = min(seconds, SILENCE_SECONDS_MAX)
    return Timeout(min(CONNECT_SECONDS, seconds), silence, silence, silence)


def read_headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """By their names in lower case; what came several times is one list."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name = raw_name.decode("latin-1").lower()
        try:
            value = raw_value.decode()
        except UnicodeDecodeError:
            value = raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def read_answer(response: Head, body: bytes) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, body)


def read_fault(error: Exception, limits: Timeout) -> Fault | None:
    """Name the trouble in words; the library's own text is kept where it adds something. None when
    it is no failure of HTTP.

    The classes of httpcore2 are told by their names, which those of httpx2 have as well.
    """
    kinds = type(error).__mro__
    names = {kind.__name__ for kind in kinds if kind.__module__.partition(".")[0] in HTTP_LIBRARIES}
    if "ConnectTimeout" in names:
        problem = f"it did not accept a connection within {limits.connect:g} seconds"
        return Fault(problem, is_timeout=True)
    if "PoolTimeout" in names:
        problem = f"no connection of this client became free within {limits.pool:g} seconds"
        return Fault(problem, is_timeout=True)
    if "WriteTimeout" in names:
        return Fault(f"it took no data for {limits.write:g} seconds", is_timeout=True)
    if "TimeoutException" in names:
        return Fault(f"it was silent for {limits.read:g} seconds", is_timeout=True)
    if "ConnectError" in names:
        return Fault(f"cannot connect ({error})")
    if names & BREAKS:
        return Fault(f"the connection broke ({str(error) or type(error).__name__})")
    if names & FAILURES:
        return Fault(str(error) or type(error).__name__, passing=False)
    return None


def host_of(url: str) -> str:
    """Of a link only this is shown: the rest of it is a key to the file."""
    link = urlsplit(url)
    return f"{link.scheme}://{link.netloc.rpartition('@')[2]}"


def total_bytes(response: Head) -> int:
    """How many bytes the body has, 0 when that is not said."""
    text = response.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else 0


def parse(answer: Answer, model: type[R]) -> R:
    """The record in a successful answer; raises `BadAnswer` when it isn't one."""
    try:
        return model.read(json.loads(answer.body))
    except WrongShape as error:
        raise BadAnswer(
            f"The answer is not a {model.__name__} of this API (at {error}).", answer.request_id
        ) from None
    except ValueError:
        raise BadAnswer(
            "The answer is not JSON; is this the address of an agentpost server?",
            answer.request_id,
        ) from None


def failure(outcome: Answer | Fault, url: str) -> AgentpostError:
    """The exception for an outcome that is no success; ``url`` is the address to show."""
    if isinstance(outcome, Fault):
        kind = RequestTimeout if outcome.is_timeout else ConnectionFailed
        return kind(url, outcome.problem)
    if 300 <= outcome.status < 400:
        return BadAnswer(f"{url} answers with a redirect; use the address it leads to.")
    try:
        body = ErrorBody.read(json.loads(outcome.body))
    except ValueError:
        return ApiError(
            f"http_{outcome.status}",
            f"The server answered {outcome.status} without an error of this API.",
            outcome.status,
            request_id=outcome.request_id,
            retry_after=outcome.retry_after,
        )
    return error_class(body.error)(
        body.error,
        body.message or body.error,
        outcome.status,
        request_id=body.request_id or outcome.request_id,
        problems=body.problems,
        retry_after=outcome.retry_after,
        cursor=body.cursor,
        docs=body.docs,
    )
