"""One client in several event loops, threads and processes, and after it was closed."""

import asyncio
import gc
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from agentpost_client import AsyncClient, Client, ConfigError
from tests import programs
from tests.client.scripted import KEY, served

END = 'id: c1\nevent: progress\ndata: {"seq": 1, "type": "progress"}\n\nevent: end\ndata: {}\n\n'


async def me(request: Request) -> JSONResponse:
    """Which connection this came on."""
    assert request.client is not None
    return JSONResponse({"user_id": str(request.client.port)})


async def stream(_: Request) -> StreamingResponse:
    return StreamingResponse(iter([END]), media_type="text/event-stream")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    routes = [Route("/v1/me", me), Route("/v1/messages/{id}/stream", stream)]
    with served(Starlette(routes=routes)) as address:
        yield address


async def used(client: AsyncClient) -> str:
    """A request, a stream and a request again; the connection of the last."""
    await client.me()
    assert [entry.seq async for entry in client.follow("msg_1")] == [1]
    return (await client.me()).user_id


def test_one_client_in_several_event_loops(url: str) -> None:
    client = AsyncClient(url, KEY, max_retries=0)
    connections = [asyncio.run(used(client)) for _ in range(3)]
    assert len(set(connections)) == 3
    asyncio.run(client.aclose())
    with pytest.raises(RuntimeError, match="The client is closed"):
        asyncio.run(client.me())


def test_event_loops_that_ended_are_not_kept(url: str) -> None:
    client = AsyncClient(url, KEY)

    async def loop() -> weakref.ref[asyncio.AbstractEventLoop]:
        await used(client)
        return weakref.ref(asyncio.get_running_loop())

    first, second = asyncio.run(loop()), asyncio.run(loop())
    gc.collect()
    assert (first() is None, second() is None) == (True, False)


def test_event_loops_of_several_threads_at_once(url: str) -> None:
    client = AsyncClient(url, KEY)
    together = Barrier(4)

    async def meeting() -> str:
        await client.me()
        together.wait()
        return await used(client)

    with ThreadPoolExecutor(4) as threads:
        connections = list(threads.map(lambda _: asyncio.run(meeting()), range(4)))
    assert len(set(connections)) == 4


def test_an_http_client_of_one_loop_is_named_in_another(url: str) -> None:
    http = httpx2.AsyncClient()
    client = AsyncClient(url, KEY, http_client=http)
    asyncio.run(used(client))
    with pytest.raises(ConfigError, match="another event loop"):
        asyncio.run(used(client))


FORKING = """
import os, sys
from agentpost_client import Client

client = Client(sys.argv[1], "key", max_retries=0)
before = client.me().user_id
child = os.fork()
ports = {client.me().user_id for _ in range(20)}
if child == 0:
    os._exit(0 if before not in ports and len(ports) == 1 else 1)
assert ports == {before}, (ports, before)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_forked_process_opens_its_own_connections(url: str) -> None:
    programs.printed(sys.executable, "-c", FORKING, url)


def test_threads_share_a_client(url: str) -> None:
    with Client(url, KEY) as client, ThreadPoolExecutor(8) as threads:
        assert len(list(threads.map(lambda _: client.me(), range(40)))) == 40
    with pytest.raises(RuntimeError, match="The client is closed"):
        client.me()
