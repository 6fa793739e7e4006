"""How lists are printed: as JSON in the form of the API's pages, or as a table that says how the
next page is got."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from agentpost.cli.errors import say
from agentpost.cli.printing import print_json

T = TypeVar("T")


class Record(Protocol):
    """What a client gives: ``raw`` is its JSON."""

    @property
    def raw(self) -> Any: ...


def page(data: Iterable[object], next_before: str | None = None) -> dict[str, Any]:
    """A list as JSON. ``next_before``: what `--before` is to be for the next page; None: there is
    no more."""
    fields = {"object": "list", "data": list(data)}
    return {**fields, "has_more": next_before is not None, "next_before": next_before}


def first(pages: Iterable[T], limit: int, id_of: Callable[[T], str]) -> tuple[list[T], str | None]:
    """The first ones of a list that is read page by page, and the ``next_before`` of `page`."""
    items = list(islice(pages, limit + 1))
    return items[:limit], id_of(items[limit - 1]) if len(items) > limit else None


def show_page(
    records: Sequence[Record],
    next_before: str | None,
    as_json: bool,
    show_table: Callable[[], None],
) -> None:
    """Print a list and, when there are more, how to get the next ones."""
    if as_json:
        print_json(page([record.raw for record in records], next_before))
        return
    show_table()
    say_more(next_before)


def say_more(next_before: str | None) -> None:
    """Below a table, how to get what follows."""
    if next_before is not None:
        say(f"there are more: --limit, or --before {next_before}")
