"""An end that cannot be written yet is written later (design: Faults of our own)."""

import pytest

from agentpost.domain.errors import Fenced
from agentpost.runtime import owners


async def test_an_end_is_tried_until_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "RETRY_SECONDS_FIRST", 0.001)
    tried: list[int] = []

    async def write() -> None:
        tried.append(1)
        if len(tried) < 4:
            raise OSError("disk is full")

    await owners.retry_until_recorded(write, "exe_1")
    assert len(tried) == 4


async def test_an_end_that_is_not_ours_is_not_tried_again() -> None:
    tried: list[int] = []

    async def write() -> None:
        tried.append(1)
        raise Fenced("taken over")

    with pytest.raises(Fenced):
        await owners.retry_until_recorded(write, "exe_1")
    assert len(tried) == 1
