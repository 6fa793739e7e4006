"""When two POSTs are the same (spec: createMessage 2; design: Idempotency)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from agentpost.domain.limits import IDEMPOTENCY_KEY_CHARACTERS_MAX


class Verdict(StrEnum):
    """How to treat a second POST with a known key."""

    REPLAY = "replay"
    CONFLICT = "conflict"


def key_of(header: str | None) -> str | None:
    """The key as it counts: longer ones are cut, an empty one is none.

    Blanks around a header's value are no part of it, and proxies drop them.
    """
    return (header or "").strip(" \t")[:IDEMPOTENCY_KEY_CHARACTERS_MAX] or None


def fingerprint(
    message: str,
    files: Sequence[dict[str, Any]],
    upload_ids: Sequence[str],
    terms: Mapping[str, object] | None = None,
) -> str:
    """A hash of what makes a body the same: trimmed message, the files taken, the uploads, and the
    terms on which it is sent, by their names, without those that are left to us.

    ``conversation``, ``webhook_endpoint_id`` and ``metadata`` are not part of it.
    """
    if not files and not upload_ids and not terms:
        return hashlib.sha256(message.encode()).hexdigest()
    short = [{name: _short(value) for name, value in file.items()} for file in files]
    parts = [message, short, list(dict.fromkeys(upload_ids)), *([terms] if terms else [])]
    body = b"\0" + json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(body).hexdigest()


def _short(value: object) -> object:
    """A file's contents as their hash: there may be megabytes of them."""
    if isinstance(value, str) and len(value) > 64:
        return hashlib.sha256(value.encode()).digest().hex()
    return value


def compare(stored: str, given: str) -> Verdict:
    """Judge a POST whose key is already taken."""
    return Verdict.REPLAY if stored == given else Verdict.CONFLICT
