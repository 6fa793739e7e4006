"""Text that is shown while it is written: coalesced, bounded, in order (design: Shown text)."""

import asyncio
import json
from typing import Any

import pytest

from agentpost.runtime.deltas import Deltas
from agentpost.wakeups.base import TEXT_BYTES_MAX, Wakeups


class Hub(Wakeups):
    """Keeps what is told."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[dict[str, Any]] = []

    def tell(self, subject: str, text: str) -> None:
        assert subject == "msg_1"
        assert len(text.encode()) <= TEXT_BYTES_MAX
        self.said.append(json.loads(text))


async def test_pieces_are_told_together() -> None:
    hub = Hub()
    deltas = Deltas(hub, "msg_1", None, 1)
    for piece in ("Hel", "lo, ", "wor", "ld"):
        deltas.add(piece)
    assert hub.said == []
    deltas.close()
    assert hub.said == [{"message_id": "msg_1", "offset": 0, "text": "Hello, world"}]
    deltas.add("too late")
    await asyncio.to_thread(deltas.add, "too late")
    assert len(hub.said) == 1


@pytest.mark.rule("Additions deltas-3")
async def test_a_further_run_and_a_further_try_begin_anew() -> None:
    hub = Hub()
    deltas = Deltas(hub, "msg_1", "exe_1", 2)
    deltas.add("again")
    deltas.add("once more", reset=True)
    deltas.close()
    source = {"message_id": "msg_1", "job_id": "exe_1"}
    assert hub.said == [
        {**source, "reset": True},
        {**source, "reset": True},
        {**source, "offset": 0, "text": "once more"},
    ]


@pytest.mark.rule("Additions deltas-2")
async def test_too_much_at_once_is_left_out_and_shows_as_a_gap() -> None:
    hub = Hub()
    deltas = Deltas(hub, "msg_1", None, 1)
    deltas.add("\x01é\ud800\0" * 25_000)
    deltas.add("left out")
    await asyncio.to_thread(deltas.close)
    said = [(each["offset"], len(each["text"])) for each in hub.said]
    assert said == [(n * 1_000, 1_000) for n in range(64)]
    hub.said.clear()
    deltas = Deltas(hub, "msg_1", None, 1)
    deltas.add("x" * 70_000)
    while deltas._waiting:
        await asyncio.sleep(0)
        deltas._due()
    deltas.add("after")
    deltas.close()
    assert hub.said[-1] == {"message_id": "msg_1", "offset": 70_000, "text": "after"}
    with pytest.raises(TypeError):
        deltas.add(5)  # type: ignore[arg-type]
