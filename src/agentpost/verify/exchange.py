"""One request and what came back, kept for judging and for telling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

DIGITS_MAX: Final = 18


@dataclass(frozen=True)
class Exchange:
    """An answer read to its end; header names are in lower case, times are in seconds.

    ``known``: the request carried a key that the deployment knows. ``began`` is on the monotonic
    clock, ``took`` the time until the answer was there.
    """

    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    began: float
    took: float
    known: bool

    @property
    def line(self) -> str:
        """The request for a person: the method and where it went, without what signs a link."""
        return f"{self.method} {self.path}"

    @property
    def request_id(self) -> str | None:
        """What the operator finds the request by in the server's log."""
        return self.headers.get("request-id")

    @property
    def retry_after(self) -> int | None:
        """Seconds; None when the header is missing or no plain number."""
        return int_header(self.headers.get("retry-after"))

    def json(self) -> Any:
        """The body as JSON, or None when it is none."""
        return self._json

    @cached_property
    def _json(self) -> Any:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def int_header(text: str | None) -> int | None:
    """A header's number in plain digits; one that is absurdly long is none."""
    plain = text is not None and text.isascii() and text.isdigit()
    return int(text) if text and plain and len(text) <= DIGITS_MAX else None
