"""One part that fails to end leaves none of the others running."""

import asyncio
from collections.abc import Awaitable, Callable

from agentpost.tasks.shutdown import end_all


async def test_every_part_is_ended_whatever_becomes_of_the_others() -> None:
    ended: list[str] = []

    def part(name: str) -> Callable[[], Awaitable[None]]:
        async def end() -> None:
            ended.append(name)
            if name == "broken":
                raise OSError("the disk is full")
            if name == "hanging":
                await asyncio.Event().wait()

        return end

    names = ["first", "broken", "second", "hanging", "third"]
    assert not await end_all([(name, part(name)) for name in names], seconds=0.01)
    assert ended == names
    assert await end_all([("only", part("only"))])
