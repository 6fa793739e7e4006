"""Receive webhooks: check who sent them, and read the event (spec: Webhook events).

    >>> import os
    >>> from agentpost_client import webhooks
    >>> secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    >>> body = b'{"type": "webhook.test", "timestamp": "2026-01-31T09:30:00Z",' \\
    ...     b' "data": {"object": "webhook_test", "webhook_endpoint_id": "whe_1"}}'
    >>> headers = webhooks.sign(body, secret)  # as the server does it
    >>> event = webhooks.unwrap(body, headers, secret)
    >>> event.type, event.data.webhook_endpoint_id
    ('webhook.test', 'whe_1')

The signatures are those of Standard Webhooks. Give `unwrap` the exact bytes of the body: a
framework that parses and prints the JSON again changes them. The same event may arrive twice; its
``id`` is the same then.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import uuid4

from agentpost_client.errors import ConfigError, WebhookRefused
from agentpost_client.events import (
    Event,
    JobEvent,
    MessageEvent,
    TestEvent,
    UnknownEvent,
    read_event,
)
from agentpost_client.records import WrongShape

__all__ = [
    "Event",
    "JobEvent",
    "MessageEvent",
    "TestEvent",
    "UnknownEvent",
    "sign",
    "unwrap",
]

TOLERANCE_SECONDS = 300.0
SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with, not one of them
_DIGITS_MAX = 12
"""Of a time in seconds: that is for 30,000 years."""
_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")

Value: TypeAlias = str | bytes | Iterable[str] | Iterable[bytes]
Headers: TypeAlias = (
    Mapping[str, Value] | Mapping[bytes, Value] | Iterable[tuple[str | bytes, Value]]
)
"""Such as those of WSGI and ASGI frameworks, of http.server, and of events of AWS Lambda."""


def unwrap(
    payload: bytes | str,
    headers: Headers,
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> Event:
    """The event in a webhook request that was signed with the secret and is not too old.

    ``payload`` is the body as it came. ``headers`` are the request's as a framework has them: a
    mapping or pairs, of text or bytes, in any case, with one value or a list. While a secret is
    rotated give both: one of them has to fit. ``tolerance`` is how far the sender's clock may be
    from ours (or from ``now``, unix seconds), in seconds. Raises `WebhookRefused`; answer such a
    request with 400. Raises `ConfigError` for a secret that is none, and `TypeError` for a body
    that was parsed and for what are no headers.
    """
    keys = [_key(each) for each in ([secret] if isinstance(secret, str) else secret)]
    if not keys:
        raise ConfigError("No webhook secret: give the one shown when the endpoint was created.")
    body = _bytes(payload)
    values = _values(headers)
    missing = [name for name in _HEADERS if not values.get(name)]
    if missing:
        raise WebhookRefused(
            f"The headers have no {missing[0]}: the request is no signed webhook, or something on"
            " the way left it out."
        )
    event_id, timestamp, signatures = (values[name] for name in _HEADERS)
    _check_time(timestamp, time.time() if now is None else now, tolerance)
    if not _is_signed(keys, event_id, timestamp, body, signatures):
        raise WebhookRefused(
            "No signature of the request fits: it was signed with another secret, or its body was"
            " changed on the way (give the bytes as they came)."
        )
    return _event(body, event_id)


def sign(
    payload: bytes | str, secret: str, *, event_id: str | None = None, timestamp: int | None = None
) -> dict[str, str]:
    """The headers a server sends with such a body, for the tests of your own endpoint."""
    body = _bytes(payload)
    event_id = event_id or f"evt_{uuid4().hex}"
    at = str(int(time.time()) if timestamp is None else timestamp)
    signature = base64.b64encode(_digest(_key(secret), event_id, at, body)).decode()
    return dict(zip(_HEADERS, (event_id, at, f"v1,{signature}"), strict=True))


def _bytes(payload: bytes | str) -> bytes:
    if isinstance(payload, str):
        return payload.encode("utf-8", "surrogatepass")
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload)
    raise TypeError(
        f"The payload is of the type {type(payload).__name__}: give the body as it came, as bytes"
        " or text. JSON that was parsed and printed again has other bytes than those signed."
    )


def _values(headers: Headers) -> dict[str, str]:
    """Those of `_HEADERS` that are there; of several values all, with a blank between, as
    signatures are written."""
    read: Any = getattr(headers, "items", None)  # http.server's have it and are no mapping
    items: Any = headers if read is None else read()
    values: dict[str, list[str]] = {name: [] for name in _HEADERS}
    try:
        for name, value in items:
            if (place := values.get(_text(name).lower())) is not None:
                place += map(_text, [value] if isinstance(value, str | bytes) else value)
    except (TypeError, ValueError, AttributeError):
        raise TypeError(
            f"The headers, of the type {type(headers).__name__}, cannot be read: give a mapping or"
            " pairs, of text or bytes."
        ) from None
    return {name: " ".join(each) for name, each in values.items()}


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.strip().removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ConfigError(
            f"The webhook secret is none: it begins with {SECRET_PREFIX} and was shown when the"
            " endpoint was created or its secret was rotated."
        )
    return key


def _check_time(timestamp: str, now: float, tolerance: float) -> None:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= _DIGITS_MAX):
        raise WebhookRefused("The header webhook-timestamp is no number of seconds.")
    age = now - int(timestamp)
    if abs(age) > tolerance:
        when = f"{age:.0f} seconds ago" if age > 0 else f"{-age:.0f} seconds from now"
        raise WebhookRefused(
            f"The request was signed {when}, more than {tolerance:g} seconds off: it is a repeated"
            " one, or one of the two clocks is wrong."
        )


def _is_signed(
    keys: Sequence[bytes], event_id: str, timestamp: str, body: bytes, signatures: str
) -> bool:
    """Whether any signature is that of any key. All are compared, in constant time each."""
    expected = [_digest(key, event_id, timestamp, body) for key in keys]
    fits = False
    for each in signatures.split(" "):
        version, _, text = each.partition(",")
        if version != "v1":
            continue
        try:
            signature = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            continue
        for digest in expected:
            fits |= hmac.compare_digest(signature, digest)
    return fits


def _digest(key: bytes, event_id: str, timestamp: str, body: bytes) -> bytes:
    signed = b".".join((_bytes(event_id), timestamp.encode(), body))
    return hmac.new(key, signed, hashlib.sha256).digest()


def _event(body: bytes, event_id: str) -> Event:
    try:
        value = json.loads(body)
        if isinstance(value, dict):
            return read_event(value, event_id=event_id)
        where = ""
    except WrongShape as error:
        where = f" (at {error})"
    except ValueError:
        where = ""
    raise WebhookRefused(f"The body is signed but is no event{where}.")
