"""Addresses that pages of any origin may use: a signature in the request is the permission, and no
cookie counts there (CORS, in WHATWG's Fetch)."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from agentpost.http.pipeline import Handler

_PREFLIGHT_SECONDS = 3_600


_EXPOSED = (
    *("Accept-Ranges", "Content-Disposition", "Content-Length", "Content-Range", "ETag"),
    *("Location", "Request-Id", "Retry-After"),
)
HEADERS: Mapping[str, str] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": ", ".join(_EXPOSED),
}
"""Those of every answer."""


def preflight(*methods: str) -> Handler:
    """Answers a browser that asks before a page sends a request with headers, such as ``Range``, or
    watches how far a form was sent."""

    async def handle(request: Request) -> Response:
        wanted_headers = request.headers.get("access-control-request-headers")
        allowed = {
            "Access-Control-Allow-Methods": ", ".join(methods),
            "Access-Control-Allow-Headers": wanted_headers or "*",
            "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS),
        }
        return Response(status_code=204, headers=allowed)

    return handle
