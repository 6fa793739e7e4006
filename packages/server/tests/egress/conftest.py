"""Guarded ways out and the servers at their other end."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from agentpost.egress.addresses import AllowList
from agentpost.egress.client import Egress
from tests.egress.hostile import Answer, Server, serving

MakeEgress = Callable[..., Egress]
Serve = Callable[..., Any]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The loop that a server's webhooks have."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
async def egress() -> AsyncIterator[MakeEgress]:
    """Makes guarded ways out with these allow-list entries."""
    made: list[Egress] = []

    def make(*allow: str, **options: Any) -> Egress:
        made.append(Egress(AllowList.parse(allow), **options))
        return made[-1]

    yield make
    for each in made:
        await each.aclose()


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts servers that answer as told."""
    async with AsyncExitStack() as running:

        async def start(answer: Answer, tls: ssl.SSLContext | None = None) -> Server:
            return await running.enter_async_context(serving(answer, tls))

        yield start
