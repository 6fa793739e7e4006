"""Webhook endpoints: their states, the retry schedule, who receives what.

spec: Webhook endpoint states, Webhook events 3, 7, 8; design: Webhook events.
"""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from agentpost.settings import load_settings
from agentpost.webhooks.endpoint_rules import (
    DeliveryStatus,
    DisabledReason,
    retry_after,
    wants,
)
from agentpost.webhooks.records import EndpointRecord

SHIPPED = load_settings()
DISABLE_SECONDS = SHIPPED.webhook_disable_seconds
DAY = 86_400 * 1_000_000
NOW = 20_000 * DAY


def endpoint(
    disabled_at: int | None = None,
    disabled_reason: DisabledReason | None = None,
    failing_since: int | None = None,
) -> EndpointRecord:
    return EndpointRecord(
        *("whe_1", "acc_1", "https://example.com", "[]"),
        created_at=0,
        disabled_at=disabled_at,
        disabled_reason=disabled_reason,
        failing_since=failing_since,
    )


HEALTHY = endpoint()
FAILING = endpoint(failing_since=NOW - DAY)
OFF_BY_HAND = endpoint(NOW - DAY, DisabledReason.MANUAL)
OFF_FAILING = endpoint(NOW - DAY, DisabledReason.FAILING, NOW - 4 * DAY)


@pytest.mark.rule("Webhook events 7")
@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [
        (1, 60),
        (2, 5 * 60),
        (3, 30 * 60),
        (4, 2 * 3600),
        (5, 5 * 3600),
        (6, 10 * 3600),
        (7, 86_400),
        (8, 86_400),
        (100, 86_400),
    ],
)
def test_retry_schedule(attempts: int, seconds: int) -> None:
    assert retry_after(attempts, SHIPPED.webhook_retry_seconds, 0.5) == seconds


@pytest.mark.rule("Webhook events 7")
@given(st.integers(1, 10_000), st.floats(0, 1))
def test_a_retry_comes_within_a_twentieth_of_its_schedule(attempts: int, chance: float) -> None:
    nominal = retry_after(attempts, SHIPPED.webhook_retry_seconds, 0.5)
    pause = retry_after(attempts, SHIPPED.webhook_retry_seconds, chance)
    assert abs(pause - nominal) <= nominal / 20 + 1e-6
    assert (pause > nominal) == (chance > 0.5) or pause == pytest.approx(nominal)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_retries_never_outrun_one_another(chances: list[float]) -> None:
    """However the dice fall, each pause of the schedule stays longer than the one before it."""
    distinct = SHIPPED.webhook_retry_seconds
    pauses = [retry_after(n, distinct, c) for n, c in enumerate(chances[: len(distinct)], start=1)]
    assert pauses == sorted(pauses)


@pytest.mark.rule("WebhookEndpoint.failing_since", "Webhook endpoint states 1")
@pytest.mark.parametrize(
    ("state", "after"),
    [
        (HEALTHY, endpoint(failing_since=NOW)),
        (FAILING, FAILING),
        (
            endpoint(failing_since=NOW - 3 * DAY + 1),
            endpoint(None, None, NOW - 3 * DAY + 1),
        ),
        (
            endpoint(failing_since=NOW - 3 * DAY),
            endpoint(NOW, DisabledReason.FAILING, NOW - 3 * DAY),
        ),
        (OFF_BY_HAND, OFF_BY_HAND),
        (OFF_FAILING, OFF_FAILING),
    ],
)
def test_a_failed_attempt(state: EndpointRecord, after: EndpointRecord) -> None:
    failed = replace(state)
    failed.note_attempt(succeeded=False, at=NOW, disable_seconds=DISABLE_SECONDS)
    assert failed == after


@pytest.mark.rule(
    "Webhook endpoint states 1", "Webhook endpoint states 2", "Webhook endpoint states 3"
)
@pytest.mark.parametrize(
    ("state", "succeeded", "switched_on", "switched_off"),
    [
        (HEALTHY, HEALTHY, HEALTHY, endpoint(NOW, DisabledReason.MANUAL)),
        (FAILING, HEALTHY, FAILING, endpoint(NOW, DisabledReason.MANUAL, NOW - DAY)),
        (OFF_BY_HAND, OFF_BY_HAND, HEALTHY, OFF_BY_HAND),
        (OFF_FAILING, OFF_FAILING, HEALTHY, OFF_FAILING),
    ],
)
def test_a_success_and_a_switch(
    state: EndpointRecord,
    succeeded: EndpointRecord,
    switched_on: EndpointRecord,
    switched_off: EndpointRecord,
) -> None:
    """Failure is continuous: one success forgets it."""
    done, on, off = replace(state), replace(state), replace(state)
    done.note_attempt(succeeded=True, at=NOW, disable_seconds=DISABLE_SECONDS)
    on.turn_on()
    has_changed = off.turn_off(DisabledReason.MANUAL, NOW)
    assert (done, on, off) == (succeeded, switched_on, switched_off)
    assert has_changed == (state != switched_off)


@pytest.mark.rule("Webhook events 3")
@pytest.mark.parametrize(
    ("events", "name", "chosen", "received"),
    [
        (["*"], "job.failed", False, True),
        (["job.failed", "message.failed"], "job.failed", False, True),
        (["message.failed"], "job.failed", False, False),
        (["message.failed"], "job.failed", True, True),
    ],
)
def test_who_receives_an_event(events: list[str], name: str, chosen: bool, received: bool) -> None:
    """Subscribers, and the one a message names whatever its list says."""
    assert wants(events, name, chosen=chosen) is received


@pytest.mark.rule("WebhookEndpoint.disabled_reason", "Delivery.status")
def test_the_words_a_client_reads() -> None:
    assert set(DeliveryStatus) == {"pending", "delivered", "failed", "dropped", "cancelled"}
    assert set(DisabledReason) == {"failing", "manual"}
