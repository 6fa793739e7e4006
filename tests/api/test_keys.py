"""How long an API key that was looked up is remembered (design: Keys and ids)."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from agentpost.api.auth import Keys
from agentpost.clock import ManualClock
from agentpost.domain.errors import Refusal
from agentpost.services import accounts
from agentpost.services.context import AppContext, Subscribers


class Live:
    """A key that is live whenever it is found."""

    caller: Any = "the caller"
    networks: tuple[Any, ...] = ()

    def is_live(self, now: int) -> bool:
        return True


@pytest.mark.parametrize("seconds", [1.0, 3_600.0, -0.5, -3_600.0])
async def test_a_key_is_looked_up_again_once_the_clock_has_moved(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, found = ManualClock(), [Live()]

    async def find_key(ctx: Any, secret: str) -> Live | None:
        return found[0] if found else None

    monkeypatch.setattr(accounts, "find_key", find_key)
    ctx = SimpleNamespace(clock=clock, external_commit=Subscribers[[]]())
    keys: Any = Keys(cast("AppContext", ctx))
    request = Request({"type": "http", "headers": [(b"authorization", b"Bearer svc_key_x")]})
    assert await keys.caller(request) == "the caller"
    found.clear()  # revoked
    assert await keys.caller(request) == "the caller", "remembered"
    clock.advance(seconds)
    with pytest.raises(Refusal, match="not valid"):
        await keys.caller(request)
