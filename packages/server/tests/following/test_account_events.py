"""How long a page of an account's events is held."""

import asyncio

import pytest

from agentpost.events import actions as events
from agentpost.events.actions import EventFilter
from agentpost.following.followers import nobody_hangs_up
from tests.harness.context import Harness


@pytest.mark.rule("Additions listEvents-5")
async def test_the_first_call_gets_its_cursor_at_once(harness: Harness) -> None:
    """The clock of the harness stands: what is held stays held."""
    ctx, caller = harness.ctx, harness.caller

    begins = await events.begin(ctx, caller, None)
    wanted = EventFilter()
    read = events.page(ctx, caller, begins, wanted, 10, 0, nobody_hangs_up)
    page = await asyncio.wait_for(read, 60)
    assert (page.events, page.has_more) == ([], False)
