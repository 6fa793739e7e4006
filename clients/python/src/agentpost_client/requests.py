"""The requests of the client, one function for each, with the checks that come before sending."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypedDict
from uuid import uuid4

from agentpost_client.limits import IDEMPOTENCY_KEY_CHARACTERS_MAX
from agentpost_client.models import Message
from agentpost_client.wire import Call, json_body, path_to


class SendOptions(TypedDict, total=False):
    """What `send` takes besides the text and the files."""

    conversation: str | None
    metadata: Mapping[str, str] | None
    idempotency_key: str | None
    webhook_endpoint_id: str | None
    upload_ids: Sequence[str]
    busy: str | None
    max_credits: float | None
    answer_to: str | None
    answer: Any
    response_schema: Mapping[str, Any] | None
    wait: int | None
    traceparent: str | None


def call(
    method: str,
    *path: str,
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str | None] | None = None,
    hold: float = 0,
    repeatable: bool = True,
) -> Call:
    """A request of which everything that is None is left out.

    ``hold`` is how many seconds the server may keep the answer back on purpose.
    """
    content = None if body is None else json_body(without_nones(body))
    return Call(
        method,
        path_to(*path),
        {name: _text(value) for name, value in without_nones(query).items()},
        content,
        {name: str(value) for name, value in without_nones(headers).items()},
        hold,
        repeatable,
    )


def create_message(
    message: str,
    files: Sequence[Mapping[str, str]],
    upload_ids: Sequence[str],
    key: str,
    options: SendOptions,
) -> Call:
    """The request that creates a message; its key covers every try."""
    metadata = options.get("metadata")
    body = {
        "message": message or None,
        "files": list(files) or None,
        "upload_ids": list(upload_ids) or None,
        "conversation": options.get("conversation"),
        "metadata": dict(metadata) if metadata else None,
        "webhook_endpoint_id": options.get("webhook_endpoint_id"),
        "busy": options.get("busy"),
        "max_credits": options.get("max_credits"),
        "answer_to": options.get("answer_to"),
        "answer": options.get("answer"),
        "response_schema": options.get("response_schema"),
    }
    headers = {"Idempotency-Key": key, "traceparent": options.get("traceparent")}
    wait = options.get("wait")
    query = {"wait": wait}
    return call("POST", "messages", query=query, body=body, headers=headers, hold=wait or 0)


def get_message(message_id: str, wait: int, earlier: Message | None) -> Call:
    """The request for a message, or for what is newer than the one known."""
    headers = {"If-None-Match": f'"v{earlier.version}"' if earlier else None}
    return call(
        "GET", "messages", message_id, query={"wait": wait or None}, headers=headers, hold=wait
    )


def list_events(message_id: str, cursor: str | None, wait: int) -> Call:
    """The request for a page of a message's log."""
    query = {"wait": wait or None, "cursor": cursor}
    return call("GET", "messages", message_id, "events", query=query, hold=wait)


def stream_message(message_id: str, cursor: str | None) -> Call:
    """The request for the stream of a message's log."""
    path = ("messages", message_id, "stream")
    return call("GET", *path, headers={"Last-Event-ID": cursor})


def list_account_events(
    cursor: str | None,
    types: Iterable[str] | None,
    conversation: str | None,
    *,
    wait: int = 0,
    limit: int | None = None,
    is_stream: bool = False,
) -> Call:
    """The request for a page of the account's events, or for the stream of them."""
    names = texts(types)
    query = {
        "wait": wait or None,
        "limit": limit,
        "cursor": None if is_stream else cursor,
        "types": None if names is None else ",".join(names),
        "conversation": conversation,
    }
    headers = {"Last-Event-ID": cursor if is_stream else None}
    return call("GET", "events", query=query, headers=headers, hold=wait)


def checked_key(key: str | None) -> str:
    """A new key, or the caller's own. One that the server would cut or take for none is refused:
    two of them could then mean the same message."""
    if key is None:
        return uuid4().hex
    usable = key.strip() == key and key.isascii() and key.isprintable()
    if not key or not usable or len(key) > IDEMPOTENCY_KEY_CHARACTERS_MAX:
        raise ValueError(
            "idempotency_key must be 1 to "
            f"{IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters without outer blanks"
        )
    return key


def texts(values: Iterable[str] | None) -> list[str] | None:
    """The words of a list, or None where none is given; raises `TypeError` for one string."""
    if isinstance(values, str):
        raise TypeError(f"give a list of texts, not the text {values!r}")
    return None if values is None else [str(value) for value in values]


def moment(value: date | datetime | str | None) -> str | None:
    """A time as the API takes it; raises `ValueError` for one that may be in any time zone."""
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError("give a time with its time zone, such as datetime.now(timezone.utc)")
    return value if value is None or isinstance(value, str) else value.isoformat()


def without_nones(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is not None."""
    return {name: value for name, value in (values or {}).items() if value is not None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
