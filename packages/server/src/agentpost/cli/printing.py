"""What a command prints: records as JSON, in lists of the form that the API has, or lines and
tables for people.

Everything goes through here, through `show.Screen` or through `errors.say`: what agents, callers or
servers wrote must not be able to drive the terminal. A test looks for other ways out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import typer

from agentpost.cli.errors import say
from agentpost.domain.text import displayable, displayable_json

if TYPE_CHECKING:
    from agentpost.cli.show import Screen

T = TypeVar("T")


def print_json(value: object, *, indented: bool = False) -> None:
    """JSON, written out at once: a record, a list of them, or one of many that follow, in a line
    each unless ``indented``."""
    text = json.dumps(value, ensure_ascii=False, indent=2 if indented else None)
    typer.echo(displayable_json(text))


def print_text(text: str = "", *, to_errors: bool = False) -> None:
    """One or more lines for people, without control characters."""
    typer.echo(displayable(text), err=to_errors)


def screen(as_json: bool = False) -> Screen:
    """Standard output for people; with ``as_json`` it has no spinner."""
    from agentpost.cli.show import Screen

    return Screen(spins=not as_json)


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
