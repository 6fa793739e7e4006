"""Standard Webhooks: secrets and signatures (spec: Webhook events 4, 5)."""

import base64
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from standardwebhooks import Webhook

SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with, not one of them
SECRET_BYTES = 32


def new_secret() -> str:
    """A fresh endpoint secret: the prefix and 32 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(
    keys: Sequence[str],
    event_id: str,
    unix_seconds: int,
    body: bytes,
    traceparent: str | None = None,
) -> dict[str, str]:
    """The headers of one attempt.

    Args:
        keys: the endpoint's secrets; each signs, the receiver accepts any of them.
        event_id: ``webhook-id``, the same for every attempt.
        unix_seconds: when this attempt is signed.
        body: the exact bytes that are sent; UTF-8.
        traceparent: the trace the event belongs to, passed on as it came.
    """
    at, text = datetime.fromtimestamp(unix_seconds, UTC), body.decode()
    headers = {
        "Content-Type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(unix_seconds),
        "webhook-signature": " ".join(_signer(key).sign(event_id, at, text) for key in keys),
    }
    return headers if traceparent is None else {**headers, "traceparent": traceparent}


@lru_cache(maxsize=1024)
def _signer(key: str) -> Webhook:
    return Webhook(key)
