"""Previews that are made apart: one account does not keep the others waiting."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentpost.domain.errors import Overloaded
from agentpost.extraction import contents
from agentpost.files import previews
from tests.harness.context import open_harness
from tests.waiting import eventually_async


async def test_an_account_that_asks_for_many_does_not_stall_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    go_on = asyncio.Event()

    async def look(kind: str, name: str, content: Any, launch: Any) -> dict[str, Any]:
        begun.append(name)
        await go_on.wait()
        return {"kind": kind}

    monkeypatch.setattr(contents, "look", look)
    async with open_harness(tmp_path) as harness:
        _, (owned, *_) = await harness.working("report")
        stored = await harness.file(owned, "a.zip")
        file = replace(stored, name="mine", content_type="application/zip")
        other = replace(file, name="other", account_id="acc_other")
        asked = [asyncio.create_task(previews.contents_of(harness.ctx, file)) for _ in range(30)]
        theirs = asyncio.create_task(previews.contents_of(harness.ctx, other))
        await eventually_async(lambda: "other" in begun, what="the other account's preview")
        assert begun == ["mine", "other"]
        go_on.set()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(one, Overloaded) for one in answers) == 24
        assert await theirs == {"kind": "archive"}
        assert await previews.contents_of(harness.ctx, file) == {"kind": "archive"}


async def test_too_many_of_all_accounts_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()

    async def look(kind: str, name: str, content: Any, launch: Any) -> dict[str, Any]:
        await go_on.wait()
        return {"kind": kind}

    monkeypatch.setattr(contents, "look", look)
    async with open_harness(tmp_path) as harness:
        _, (owned, *_) = await harness.working("report")
        file = replace(await harness.file(owned, "a.zip"), content_type="application/zip")
        files = [replace(file, account_id=f"acc_{n}") for n in range(25)]
        asked = [asyncio.create_task(previews.contents_of(harness.ctx, one)) for one in files]
        await asyncio.sleep(0)
        go_on.set()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(one, Overloaded) for one in answers) == 5
