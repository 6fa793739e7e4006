"""Which move of a message is worth a webhook event; the words of log and events (spec: Message
event log; Webhook events).
"""

from itertools import product

import pytest

from agentpost.messages.rules import MessageStatus
from agentpost.record.events import (
    message_event,
)

MOMENTS = list(product(MessageStatus, (False, True)))


@pytest.mark.rule(
    "Webhook events message.completed",
    "Webhook events message.partial",
    "Webhook events message.failed",
    "Webhook events message.needs_input",
    "Webhook events message.blocked",
    "Webhook events message.expired",
    "Webhook events 1",
)
def test_every_move() -> None:
    """A new status other than processing, or the same one become final (design: Webhook events)."""
    events = {}
    for before, after in product(MOMENTS, MOMENTS):
        arrives = after[0] != before[0]
        becomes_final = after[1] and not before[1]
        is_event = after[0] != "processing" and (arrives or becomes_final)
        events[before, after] = f"message.{after[0]}" if is_event else None
    assert {move: message_event(*move) for move in events} == events
