# Made by docs/client_sync.py from agentpost_client/_async/pages.py; change that.
"""Lists that are read page by page, while they are iterated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Pages(Generic[T]):
    """All items of a list, newest first; the next page is asked for when it is needed.

    Nothing is asked before the first item is. Each iteration starts at the beginning again.
    """

    def __init__(self, read: Callable[[str | None], tuple[tuple[T, ...], str | None]]) -> None:
        """``read`` gives the page behind a cursor, and the cursor of the next one or None."""
        self._read = read

    def __iter__(self) -> Iterator[T]:
        items, cursor = self._read(None)
        while True:
            yield from items
            if cursor is None:
                return
            items, cursor = self._read(cursor)

    def page(self) -> tuple[T, ...]:
        """The first page alone."""
        items, _ = self._read(None)
        return items
