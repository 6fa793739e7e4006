"""A list of messages looks at a bounded number of them, on each database."""

import pytest

from agentpost.db import filtered
from agentpost.messages import lists
from agentpost.messages.filter_rules import MessageFilter
from tests.harness.context import Harness
from tests.harness.databases import harness

__all__ = ["harness"]


@pytest.mark.rule("Additions listMessages-3")
async def test_a_page_that_finds_little_ends_early_and_says_where_to_go_on(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filtered, "SCANNED_MAX", 2)
    sent = []
    for n in range(9):
        harness.tick()
        labels = {"order": "7"} if n in (0, 8) else {"order": "70"}
        sent.append((await harness.send(f"message {n}", metadata=labels)).message.id)
    wanted = MessageFilter(metadata=(("order", "7"),))
    pages, before = [], None
    while True:
        page = await lists.list_page(harness.ctx, harness.caller, wanted, before=before, limit=5)
        pages.append([snapshot.message.id for snapshot in page.messages])
        before = page.go_on
        assert page.has_more == (before is not None)
        if before is None:
            break
    assert pages == [[sent[8]], [sent[0]]]
    everything = MessageFilter()
    page = await lists.list_page(harness.ctx, harness.caller, everything, before=None, limit=4)
    assert (len(page.messages), page.has_more, page.go_on) == (4, True, None)
