"""`GET /metrics`: metrics for whoever has the token (docs/metrics.md)."""

import hmac

from starlette.requests import Request
from starlette.responses import Response

from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.http.headers import header
from agentpost.http.pipeline import Handler
from agentpost.operations.metrics import Metrics

PATH = "/metrics"
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def handler(metrics: Metrics, token: str) -> Handler:
    """The handler; it takes ``Authorization: Bearer <token>``."""
    expected = token.encode()

    async def scrape(request: Request) -> Response:
        scheme, _, secret = (header(request, b"authorization") or "").partition(" ")
        # As bytes: for text with other letters than ASCII's the comparison would raise.
        is_same = hmac.compare_digest(secret.strip().encode("latin-1"), expected)
        if scheme.lower() != "bearer" or not is_same:
            text = "Send the token of the setting metrics_token: Authorization: Bearer <token>."
            raise Refusal(ErrorCode.UNAUTHORIZED, text)
        return Response(
            await metrics.text(), headers={"Cache-Control": "no-store"}, media_type=_TEXT
        )

    return scrape
