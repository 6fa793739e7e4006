"""Two nodes that start together agree about a storage's name; one is adopted beside a server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from agentpost.blobs import identity as storage_identity
from agentpost.blobs.identity import NAME, OtherStorage
from agentpost.db import meta
from agentpost.domain.errors import StoreUnavailable
from agentpost.operations import health
from tests.harness.driver import ManualHarness, manual_harness

NAMED = "store_of_the_other_node"


@pytest.fixture
async def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ManualHarness]:
    """A node on a shared database, which another node has just named a storage in."""
    async with manual_harness(tmp_path) as made:
        await made.ctx.db.write(lambda tx: meta.put(tx, NAME, NAMED))
        shared = {"database_url": SecretStr("postgresql://127.0.0.1/of-all-nodes")}
        monkeypatch.setattr(made.ctx, "settings", made.ctx.settings.model_copy(update=shared))
        yield made


async def test_the_name_is_on_its_way(at: ManualHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = at.ctx.storage
    asked, identity = asyncio.Event(), storage.identity
    looks = 0

    async def look() -> str | None:
        nonlocal looks
        looks += 1
        found = await identity()
        if looks == 2:  # it was not there at the start, nor after the database was read
            asked.set()
        return found

    async def other_node() -> None:
        await asked.wait()
        await storage.set_identity(NAMED)

    monkeypatch.setattr(storage, "identity", look)
    async with asyncio.TaskGroup() as group:
        group.create_task(other_node())
        group.create_task(storage_identity.settle(at.ctx))
    assert at.ctx.storage_id == NAMED


async def test_the_name_does_not_come(at: ManualHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_identity, "NAMING_SECONDS", 0)
    with pytest.raises(OtherStorage):
        await storage_identity.settle(at.ctx)


async def test_a_storage_is_adopted_beside_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(_: object) -> tuple[int, int]:
        return 1, 0  # a file that the database names is not there

    monkeypatch.setattr(storage_identity, "_sample", lost)
    async with manual_harness(tmp_path) as at:
        await at.ctx.db.write(lambda tx: meta.put(tx, NAME, NAMED))
        await storage_identity.settle(at.ctx)
        assert at.ctx.storage_id == ""
        adopted = await storage_identity.adopt(at.ctx)
        await health.check_blobs(at.ctx)
        assert at.ctx.storage_id == adopted
        await at.ctx.db.write(lambda tx: meta.put(tx, NAME, NAMED))
        at.ctx.storage_id = NAMED
        with pytest.raises(StoreUnavailable, match="replaced"):
            await health.check_blobs(at.ctx)
