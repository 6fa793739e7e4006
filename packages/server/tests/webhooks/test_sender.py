"""One attempt, to receivers of every kind (spec: Webhook events 6)."""

import pytest

from agentpost.clock import ManualClock
from agentpost.domain.times import SECOND
from agentpost.egress.client import PostResult
from agentpost.webhooks.dispatcher import Sender
from agentpost.webhooks.signing import new_secret, signed_headers
from tests.egress.conftest import MakeEgress, Serve
from tests.egress.hostile import Server, replies

BODY = '{"data":"ü"}'.encode()
KEYS = (new_secret(), new_secret())


async def attempt(egress: MakeEgress, server: Server, seconds: float = 5) -> PostResult:
    sender = Sender(egress(server.entry), ManualClock(), seconds)
    return await sender.attempt(server.url(), KEYS, "evt_1", BODY)


@pytest.mark.rule("Webhook events 5")
async def test_the_signed_bytes_are_the_sent_bytes(egress: MakeEgress, serve: Serve) -> None:
    server = await serve(replies(b"thanks"))
    outcome = await attempt(egress, server)
    assert (outcome.status, outcome.error, outcome.snippet) == (200, None, "thanks")
    (request,) = server.requests
    assert request.body == BODY
    signed = signed_headers(KEYS, "evt_1", ManualClock().now() // SECOND, BODY)
    for name in ("webhook-id", "webhook-timestamp", "content-type"):
        assert request.headers[name] == {k.lower(): v for k, v in signed.items()}[name].lower()
    assert request.headers["webhook-signature"] == signed["webhook-signature"].lower()


@pytest.mark.rule("Webhook events 6")
@pytest.mark.parametrize("status", [200, 204, 299, 301, 302, 307, 308, 400, 404, 429, 500, 599])
async def test_any_2xx_is_success_and_everything_else_fails(
    egress: MakeEgress, serve: Serve, status: int
) -> None:
    server = await serve(replies(b"why", f"{status} So", {"Location": "/other"}))
    outcome = await attempt(egress, server)
    assert (outcome.status, outcome.error is None) == (status, status < 300)
    assert outcome.error is None or str(status) in outcome.error
    assert ("redirects are not followed" in (outcome.error or "")) == (300 <= status < 400)
    assert len(server.requests) == 1
