"""The servers and guarded ways out that the sender's tests share with those of `egress`, and an
account whose deliveries a test makes and ends."""

import pytest

from agentpost.clock import ManualClock
from agentpost.context import AppContext
from tests.egress.conftest import egress, serve
from tests.webhooks.attempts import Account

__all__ = ["egress", "serve"]


@pytest.fixture
def own(ctx: AppContext, clock: ManualClock, account: str) -> Account:
    """The account on each database, on a clock the test moves."""
    return Account(ctx, clock, account)
