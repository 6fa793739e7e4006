"""Lists that are read page by page, while they are iterated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class AsyncPages(Generic[T]):
    """All items of a list, newest first; the next page is asked for when it is needed.

    Nothing is asked before the first item is. Each iteration starts at the beginning again.
    """

    def __init__(
        self, read: Callable[[str | None], Awaitable[tuple[tuple[T, ...], str | None]]]
    ) -> None:
        """``read`` gives the page behind a cursor, and the cursor of the next one or None."""
        self._read = read

    async def __aiter__(self) -> AsyncIterator[T]:
        items, cursor = await self._read(None)
        while True:
            for item in items:
                yield item
            if cursor is None:
                return
            items, cursor = await self._read(cursor)

    async def page(self) -> tuple[T, ...]:
        """The first page alone."""
        items, _ = await self._read(None)
        return items
