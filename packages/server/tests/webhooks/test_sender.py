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
@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_is_success(egress: MakeEgress, serve: Serve, status: int) -> None:
    outcome = await attempt(egress, await serve(replies(status=f"{status} Fine")))
    assert (outcome.status, outcome.error) == (status, None)


@pytest.mark.rule("Webhook events 6")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 400, 404, 410, 429, 500, 503, 599])
async def test_everything_else_fails(egress: MakeEgress, serve: Serve, status: int) -> None:
    server = await serve(replies(b"why", f"{status} No", {"Location": "/other"}))
    outcome = await attempt(egress, server)
    assert outcome.status == status
    assert outcome.error is not None
    assert str(status) in outcome.error
    assert ("redirects are not followed" in outcome.error) == (status < 400)
    assert len(server.requests) == 1
