"""Guarded ways out and the servers at their other end."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agentpost.egress.addresses import AllowList
from agentpost.egress.client import Download, Egress, PostResult
from agentpost.egress.errors import EgressRefused, FetchFailed
from tests.egress.calls import post
from tests.egress.hostile import Answer, Server, serving

MakeEgress = Callable[..., Egress]
Serve = Callable[..., Any]
Posted = Callable[..., Awaitable[PostResult]]
Fetched = Callable[..., Awaitable[Download]]


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


@pytest.fixture
def posted(egress: MakeEgress, serve: Serve) -> Posted:
    """What comes of a webhook that is sent to a server which answers so."""

    async def posted(answer: Answer, seconds: float = 30) -> PostResult:
        server = await serve(answer)
        return await post(egress(server.entry), server.url(), seconds)

    return posted


@pytest.fixture
def fetched(egress: MakeEgress, serve: Serve, tmp_path: Path) -> Fetched:
    """Fetches the file ``f`` from a server which answers so; when that fails, no file is left."""
    into = tmp_path / "f"

    async def fetched(
        answer: Answer, path: str = "/", max_bytes: int = 1_000, seconds: float = 30
    ) -> Download:
        server = await serve(answer)
        client = egress(server.entry)
        try:
            url = server.url(path)
            return await client.fetch(url, max_bytes=max_bytes, seconds=seconds, into=into)
        except (EgressRefused, FetchFailed):
            assert not into.exists()
            raise

    return fetched
