"""One attempt, to receivers of every kind (spec: Webhook events 6)."""

import time

import pytest

from agentpost.clock import ManualClock
from agentpost.domain.times import SECOND
from agentpost.egress.client import PostResult
from agentpost.webhooks.dispatcher import Sender
from agentpost.webhooks.signing import new_secret, signed_headers
from tests.egress.conftest import MakeEgress, Serve
from tests.egress.hostile import ENDLESS, OK, Server, bomb, drips, floods, replies, says
from tests.waiting import PROMPT

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


@pytest.mark.rule("Webhook events 4")
async def test_each_attempt_is_signed_at_its_own_time(egress: MakeEgress, serve: Serve) -> None:
    server, clock = await serve(replies()), ManualClock()
    sender = Sender(egress(server.entry), clock, 5)
    for _ in range(2):
        await sender.attempt(server.url(), KEYS, "evt_1", BODY)
        clock.advance(60)
    first, second = (request.headers for request in server.requests)
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 60
    assert first["webhook-id"] == second["webhook-id"]
    assert first["webhook-signature"] != second["webhook-signature"]


async def test_the_trace_is_passed_on_as_it_came(egress: MakeEgress, serve: Serve) -> None:
    server = await serve(replies())
    sender = Sender(egress(server.entry), ManualClock(), 5)
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    for given in (trace, None):
        await sender.attempt(server.url(), KEYS, "evt_1", BODY, given)
    assert [request.headers.get("traceparent") for request in server.requests] == [trace, None]


@pytest.mark.rule("Webhook events 6")
@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_is_success(egress: MakeEgress, serve: Serve, status: int) -> None:
    outcome = await attempt(egress, await serve(replies(status=f"{status} Fine")))
    assert (outcome.status, outcome.error) == (status, None)


@pytest.mark.rule("Webhook events 6")
@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 404, 410, 429, 500, 503, 599])
async def test_everything_else_fails(egress: MakeEgress, serve: Serve, status: int) -> None:
    server = await serve(replies(b"why", f"{status} No", {"Location": "/other"}))
    outcome = await attempt(egress, server)
    assert outcome.status == status
    assert outcome.error is not None
    assert str(status) in outcome.error
    assert len(server.requests) == 1


@pytest.mark.rule("Webhook events 6")
async def test_silence_and_drips_end_with_the_clock(egress: MakeEgress, serve: Serve) -> None:
    for answer in (drips(b"", b""), drips(OK + b"X: ", b"x")):
        started = time.monotonic()
        outcome = await attempt(egress, await serve(answer), 0.4)
        assert 0.4 <= time.monotonic() - started < PROMPT
        assert (outcome.status, outcome.error) == (None, "no answer within 0.4 seconds")


async def test_a_huge_answer_is_kept_short(egress: MakeEgress, serve: Serve) -> None:
    outcome = await attempt(egress, await serve(floods(ENDLESS, b"x" * 65_536)))
    assert (outcome.error, outcome.snippet) == (None, "x" * 1_024)
    packed = replies(bomb(), headers={"Content-Encoding": "gzip"})
    outcome = await attempt(egress, await serve(packed))
    assert (outcome.error, outcome.snippet) == (None, "")


async def test_a_reset_is_a_failure(egress: MakeEgress, serve: Serve) -> None:
    outcome = await attempt(egress, await serve(says(b"")))
    assert outcome.status is None
    assert outcome.error == "it closed the connection without an answer"


async def test_a_private_address_is_refused_at_the_attempt(
    egress: MakeEgress, serve: Serve
) -> None:
    server = await serve(replies())
    sender = Sender(egress(), ManualClock(), 5)
    outcome = await sender.attempt(server.url(), KEYS, "evt_1", BODY)
    assert outcome.status is None
    assert outcome.error is not None
    assert server.connections == 0
