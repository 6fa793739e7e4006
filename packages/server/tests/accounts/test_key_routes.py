"""How long an API key that was looked up is remembered (design: Keys and ids)."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from agentpost.accounts import actions as accounts
from agentpost.api.auth import Keys
from agentpost.clock import ManualClock
from agentpost.context import AppContext, Subscribers
from agentpost.domain.errors import Refusal


class Live:
    """A key that is live whenever it is found."""

    caller: Any = "the caller"
    networks: tuple[Any, ...] = ()
    revoked_at: int | None = None
    expires_at: int | None = None


class Found:
    """A clock, and the keys that are looked up, of which each look-up takes a turn of the loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = ManualClock()
        self.is_there = True
        self.look_ups = 0
        monkeypatch.setattr(accounts, "find_key", self._find_key)
        ctx = SimpleNamespace(clock=self.clock, external_commit=Subscribers[[]]())
        self.keys: Any = Keys(cast("AppContext", ctx))

    async def _find_key(self, ctx: Any, secret: str) -> Live | None:
        self.look_ups += 1
        found = Live() if self.is_there else None
        await asyncio.sleep(0)
        return found

    async def call(self) -> Any:
        header = (b"authorization", b"Bearer svc_key_x")
        return await self.keys.caller(Request({"type": "http", "headers": [header]}))


@pytest.mark.parametrize("seconds", [1.0, 3_600.0, -0.5, -3_600.0])
async def test_a_key_is_looked_up_again_once_the_clock_has_moved(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Found(monkeypatch)
    assert await found.call() == "the caller"
    found.is_there = False  # revoked
    assert await found.call() == "the caller", "remembered"
    found.clock.advance(seconds)
    with pytest.raises(Refusal, match="not valid"):
        await found.call()


async def test_a_key_in_use_is_looked_up_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Found(monkeypatch)
    for _ in range(5):
        await asyncio.gather(*(found.call() for _ in range(3)))
        found.clock.advance(0.6)
    assert found.look_ups == 3, "one for all that come meanwhile"


async def test_a_look_up_outlasts_the_call_that_began_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Found(monkeypatch)
    first, second = (asyncio.create_task(found.call()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "the caller"
    assert found.look_ups == 1


async def test_a_look_up_from_before_a_change_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Found(monkeypatch)
    looking = asyncio.create_task(found.call())
    while not found.look_ups:  # noqa: ASYNC110 - it has no end to wait for yet
        await asyncio.sleep(0)
    found.keys.forget()
    found.is_there = False
    with pytest.raises(Refusal, match="not valid"):
        await found.call()
    assert await looking == "the caller"
    with pytest.raises(Refusal, match="not valid"):
        await found.call()
