"""Public pages, readable without a key: made once, then sent unchanged."""

import hashlib
from collections.abc import Callable
from functools import cached_property

from starlette.requests import Request
from starlette.responses import Response

from agentpost.http import conditions

_SECONDS = 300
"""How long a client or cache may keep it without asking."""


class PublishedDocument:
    """A document that stays the same while the server runs; the answer of its route.

    Args:
        make: its bytes; called when it is first asked for.
        policy: makes the content security policy of a page.
        vary: the header of the request that this is one of several documents for.
    """

    def __init__(
        self,
        make: Callable[[], bytes],
        media_type: str,
        policy: Callable[[], str] | None = None,
        vary: str | None = None,
    ) -> None:
        self._make = make
        self._media_type = media_type
        self._policy = policy
        self._vary = vary

    async def __call__(self, request: Request) -> Response:
        """The document, or 304 for a client that has it (RFC 9110, 13.1.2)."""
        headers = {"ETag": self._tag, "Cache-Control": f"public, max-age={_SECONDS}"}
        if self._vary is not None:
            headers["Vary"] = self._vary
        if conditions.is_known(request.headers, self._tag):
            return Response(status_code=304, headers=headers)
        headers["X-Content-Type-Options"] = "nosniff"
        if self._policy is not None:
            headers["Content-Security-Policy"] = self._policy()
        return Response(self._content, headers=headers, media_type=self._media_type)

    @cached_property
    def _content(self) -> bytes:
        return self._make()

    @cached_property
    def _tag(self) -> str:
        return f'"{hashlib.sha256(self._content).hexdigest()[:32]}"'
