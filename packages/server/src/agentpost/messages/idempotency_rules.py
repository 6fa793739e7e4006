"""When two POSTs are the same (spec: createMessage 2; design: Idempotency)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.domain.limits import IDEMPOTENCY_KEY_CHARACTERS_MAX, REPEAT_SECONDS
from agentpost.domain.times import SECOND

_DIGITS: Final = 10
_FIRST, _REPEAT = "first attempt", "repeat"


def key_of(header: str | None) -> str | None:
    """The key as it counts: longer ones are cut, an empty one is none. Blanks around a header's
    value are no part of it, and proxies drop them."""
    return (header or "").strip(" \t")[:IDEMPOTENCY_KEY_CHARACTERS_MAX] or None


def fingerprint(
    message: str,
    files: Sequence[Mapping[str, str | None]],
    upload_ids: Sequence[str],
    terms: Mapping[str, object] | None = None,
) -> str:
    """A hash of what makes a body the same.

    Args:
        message: trimmed.
        files: those that are taken, with `short` values.
        terms: the other fields that count, by their public names, without those that have their
            default.
    """
    if not files and not upload_ids and not terms:
        return hashlib.sha256(message.encode()).hexdigest()
    parts = [message, list(files), list(dict.fromkeys(upload_ids)), *([terms] if terms else [])]
    body = b"\0" + json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(body).hexdigest()


def short(value: str | None) -> str | None:
    """A value of a file, or its hash when it is long: contents may have megabytes."""
    if value is None or len(value) <= 64:
        return value
    return hashlib.sha256(value.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Attempt:
    """A POST of a client that repeats calls without an idempotency key and counts its attempts.

    Its message holds a key that is made of ``topic`` and ``body``, which are hashes, and a number:
    equal calls that are meant have one number after another, and a repeat finds the newest. Two
    attempts that are taken in at once want the same number, so the unique index lets one of them
    win. ``topic`` stands first: it finds the message that a later call goes on from. The key is
    longer than a caller's may be, so no caller can take it.
    """

    topic: str
    body: str
    count: int
    """0 for the first attempt."""
    arrived_at: int
    """Microseconds since 1970."""

    @property
    def fingerprint(self) -> str:
        """Stored with the message: whether a repeat made it."""
        return _REPEAT if self.count else _FIRST

    @property
    def prefix(self) -> str:
        """What the keys of equal calls begin with."""
        return f"{topic_prefix(self.topic)}{self.body}/"

    def key_after(self, newest: str | None) -> str:
        """The key of a new message, ``newest`` being that of the newest one."""
        number = 0 if newest is None else int(newest[-_DIGITS:]) + 1
        return f"{self.prefix}{number:0{_DIGITS}}"

    def is_of(self, fingerprint: str, created_at: int, now: int) -> bool:
        """Whether the newest message of this body stands for this call.

        For a repeat it does while an attempt may still be repeated. For a first attempt it does
        only when a repeat of it has overtaken it, that is, when a repeat has made the message since
        the first attempt arrived.
        """
        if self.count:
            return now < created_at + self.count * REPEAT_SECONDS * SECOND
        return fingerprint == _REPEAT and self.arrived_at <= created_at


def topic_prefix(topic: str) -> str:
    """What the keys of all calls of a topic begin with."""
    return f"attempt/{topic}/"
