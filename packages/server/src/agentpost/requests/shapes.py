"""What was asked of the API and what it answered (design: The request log)."""

import json
import shlex
from typing import Annotated, Final, Literal, Self

from agentpost.contract.shape import Shape, Time, about
from agentpost.domain.limits import (
    REQUEST_BODY_KEPT_CHARACTERS_MAX,
    REQUEST_PATH_KEPT_CHARACTERS_MAX,
)
from agentpost.domain.text import displayable_json
from agentpost.domain.times import iso
from agentpost.record.records import RequestRecord

LEFT_OUT: Final = "…"
"""Stands where something secret was."""


class LoggedRequestShape(Shape):
    """A request to the API, without its bodies."""

    object: Literal["request"] = "request"
    id: Annotated[str, about("`req_<id>`; its answer had it as `Request-Id`.")]
    created_at: Annotated[Time, about("When it came.")]
    key_id: str | None
    key_name: Annotated[str | None, about("null for a key that is not there.")]
    method: str
    path: Annotated[str, about("With its query; what may be secret is left out.")]
    status: Annotated[int, about("499: the client hung up before the answer was ready.")]
    error: Annotated[str | None, about("The code of the error, null for a success.")]
    ms: Annotated[int, about("How long it took.")]
    request_bytes: Annotated[int, about("The length of its body.")]
    response_bytes: Annotated[int, about("The length of the answer's body; 0 when streamed.")]
    traceparent: Annotated[str | None, about("The W3C trace context it came with.")]

    @classmethod
    def of(cls, record: RequestRecord, key_name: str | None) -> Self:
        """From its record."""
        return cls.with_fields_of(record, created_at=iso(record.at), key_name=key_name)


_KEPT = (
    f"Without secrets, its first {REQUEST_BODY_KEPT_CHARACTERS_MAX:,} characters; null when there"
    " was none or it is not kept."
)


class LoggedRequestDetailsShape(LoggedRequestShape):
    """A request to the API with its bodies."""

    request_body: Annotated[str | None, about(_KEPT)]
    response_body: Annotated[str | None, about(_KEPT)]


class LoggedRequestListShape(Shape):
    """A page of requests: newest first, or with a `cursor` in the order in which they ended."""

    object: Literal["list"] = "list"
    data: list[LoggedRequestShape]
    has_more: bool
    cursor: Annotated[str, about("Give it to wait for the requests that end from now on.")]


def as_curl(api: str, method: str, path: str, body: str | None, size: int) -> str:
    """The request again as a command; the key comes from the reader's environment.

    A body of ``size`` bytes that was not kept as it was sent is read from a file, which the reader
    has to make.
    """
    option = "" if method == "GET" else f" -X {method}"
    lines = [
        f"curl -s{option} {shlex.quote(api + path)}",
        '-H "Authorization: Bearer $AGENTPOST_KEY"',
    ]
    missing = _missing_of_body(body, size) if size else ""
    if size:
        lines.append('-H "Content-Type: application/json"')
        # White space of JSON or not: no terminal takes a carriage return for that.
        text = displayable_json((body or "").replace("\r", ""))
        lines.append(f"-d {'@body.json' if missing or not text else shlex.quote(text)}")
    notes = [missing] if missing else []
    if LEFT_OUT in path or len(path) >= REQUEST_PATH_KEPT_CHARACTERS_MAX:
        notes.append("# The address is not complete: put back what was left out of it.")
    return "\n".join([*notes, " \\\n  ".join(lines)])


def pretty(body: str) -> str:
    """JSON with line breaks; anything else as it is."""
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body


def is_cut(body: str | None) -> bool:
    """Whether only the beginning of a body was kept."""
    return len(body or "") >= REQUEST_BODY_KEPT_CHARACTERS_MAX


def _missing_of_body(body: str | None, size: int) -> str:
    """What the reader has to do before the command has the body that was sent; "" for nothing."""
    if not body:
        return f"# The body ({size:,} bytes) was not kept: write it to body.json first."
    if is_cut(body):
        what = f"Only the beginning of the body ({size:,} bytes)"
        return f"# {what} was kept: write all to body.json first."
    if LEFT_OUT in body:
        return (
            "# Save the body above as body.json, and put back what was left out of it:"
            f" it shows as {LEFT_OUT}."
        )
    return ""
