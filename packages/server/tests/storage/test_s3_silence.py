"""An object store that accepts connections and says nothing, or is not there at all."""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost.storage import s3_bucket
from agentpost.storage.incoming import Arrived
from agentpost.storage.s3 import S3Storage
from agentpost.storage.s3_incoming import S3Incoming
from tests.waiting import PATIENCE

Use = Callable[[S3Storage], Coroutine[Any, Any, object]]
IncomingUse = Callable[[S3Incoming], Coroutine[Any, Any, object]]


async def read(storage: S3Storage) -> bytes:
    return b"".join([chunk async for chunk in storage.open("key")])


USES: list[Use] = [
    lambda storage: storage.put("key", b"x"),
    lambda storage: storage.put("key", Path(__file__)),
    read,
    lambda storage: storage.size("key"),
    lambda storage: storage.local("key"),
    lambda storage: storage.delete("key"),
]


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def storage(silent: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> S3Storage:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    url = f"s3://bucket/prefix?endpoint=http://127.0.0.1:{silent}&region=us-east-1"
    return S3Storage.from_url(url, tmp_path)


UPLOAD = new_id(ids.UPLOAD, 1)
INCOMING_USES: list[IncomingUse] = [
    lambda incoming: incoming.find(UPLOAD),
    lambda incoming: incoming.snapshot(UPLOAD, Arrived(5, '"tag"'), "files/1"),
    lambda incoming: incoming.delete(UPLOAD),
]


@pytest.mark.parametrize("use", INCOMING_USES)
@pytest.mark.usefixtures("storage")
async def test_nobody_waits_for_ever_for_an_upload(
    silent: int, use: IncomingUse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does anybody else who needs a thread: as many calls hang as the common pool has."""
    monkeypatch.setattr(s3_bucket, "ANSWER_SECONDS", 0.5)
    incoming = S3Incoming(f"s3://bucket?endpoint=http://127.0.0.1:{silent}&region=us-east-1")
    async with asyncio.timeout(PATIENCE / 2):
        hanging = [asyncio.create_task(use(incoming)) for _ in range(40)]
        assert await asyncio.to_thread(lambda: "free") == "free"
        ends = await asyncio.gather(*hanging, return_exceptions=True)
    assert {type(end) for end in ends} == {TimeoutError}


@pytest.mark.parametrize("use", USES)
async def test_nobody_waits_for_ever(
    storage: S3Storage, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_bucket, "ANSWER_SECONDS", 0.2)
    async with asyncio.timeout(PATIENCE / 2):
        with pytest.raises(TimeoutError):
            await use(storage)
