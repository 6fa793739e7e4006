"""The Idempotency-Key against a real record (spec: createMessage 1, 2, 6; design: Idempotency)."""

import pytest

from tests.harness.context import Harness

DAYS = 86_400


@pytest.mark.rule("createMessage 2", "Limits idempotency-key")
async def test_a_key_is_kept_for_seven_days(harness: Harness) -> None:
    """design: Idempotency."""
    first = await harness.send("one", idempotency_key="k")
    await harness.end(harness.ticket(first.message.id))
    created = first.message.created_at
    harness.clock.advance(7 * DAYS - (harness.clock.now() - created) / 1e6 - 1)
    assert not (await harness.send("one", idempotency_key="k")).is_new
    harness.clock.advance(1)
    later = await harness.send("two", idempotency_key="k")
    assert later.is_new
    assert later.message.id != first.message.id
    assert not (await harness.send("two", idempotency_key="k")).is_new
    assert harness.view(first.message.id)["status"] == "completed"
