"""What a command prints: records as JSON, in lists of the form that the API has, or lines and
tables for people.

Everything goes through here, through `show.Screen` or through `errors.say`: what agents, callers or
servers wrote must not be able to drive the terminal. A test looks for other ways out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import typer

from agentpost.cli.commands import PLACES, command_words, prints_json
from agentpost.cli.errors import say
from agentpost.cli.tables import show_table
from agentpost.domain.text import displayable, displayable_json

if TYPE_CHECKING:
    from agentpost.cli.show import Screen

T = TypeVar("T")
Compute: TypeAlias = Mapping[str, Callable[[Any], object]]
"""Columns that are computed from a record, by the name behind the ``@`` of their path."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command returns and how it is printed; a command that goes on prints several.

    Attributes:
        record: what ``--json`` prints, None: nothing.
        text: the sentence for people, or the function that prints their form.
        notes: lines on standard error that follow in both forms.
        code: the exit code.
    """

    record: object = None
    text: str | Callable[[], object] = ""
    notes: Sequence[str] = ()
    code: int = 0

    def print(self) -> None:
        """Print it; with another exit code than 0 the command ends."""
        if prints_json.get():
            if self.record is not None:
                print_json(self.record)
        elif not isinstance(self.text, str):
            self.text()
        elif self.text:
            print_text(self.text)
        for note in self.notes:
            say(note)
        if self.code:
            raise typer.Exit(self.code)


def print_json(value: object) -> None:
    """JSON, written out at once: a record, a list of them, or one of many that follow, in a line
    each; that of an operator's command has a line for each field."""
    place = PLACES.get(command_words.get().partition(" ")[0])
    has_lines = place is not None and place.operates
    text = json.dumps(value, ensure_ascii=False, indent=2 if has_lines else None)
    typer.echo(displayable_json(text))


def print_text(text: str = "", *, to_errors: bool = False) -> None:
    """One or more lines for people, without control characters."""
    typer.echo(displayable(text), err=to_errors)


def screen() -> Screen:
    """Standard output for people; with ``--json`` it shows nothing."""
    from rich.console import Console

    from agentpost.cli.show import Screen

    return Screen(Console(highlight=False, quiet=prints_json.get()))


def fields(record: object, names: Sequence[str], **own: object) -> dict[str, Any]:
    """A stored record as JSON, with each time, which is called ``…_at`` or ``…_until``, as text.

    Args:
        names: of the fields, in this order; ``name=attribute`` where the record calls it otherwise.
        own: what the record does not have, or not in this form.
    """
    from agentpost.domain.times import iso

    def value(attribute: str) -> object:
        stored = getattr(record, attribute)
        is_time = attribute.rpartition("_")[2] in ("at", "until")
        return iso(stored) if is_time and stored is not None else stored

    pairs = [(name.partition("=")[0], name.rpartition("=")[2]) for name in names]
    return {name: own[name] if name in own else value(attribute) for name, attribute in pairs}


def page(data: Iterable[object], next_before: str | None = None) -> dict[str, Any]:
    """A list as JSON. ``next_before``: what `--before` is to be for the next page; None: there is
    no more."""
    fields = {"object": "list", "data": list(data)}
    return {**fields, "has_more": next_before is not None, "next_before": next_before}


def first(pages: Iterable[T], limit: int, id_of: Callable[[T], str]) -> tuple[list[T], str | None]:
    """The first ones of a list that is read page by page, and the ``next_before`` of `page`."""
    items = list(islice(pages, limit + 1))
    return items[:limit], id_of(items[limit - 1]) if len(items) > limit else None


def listing(
    records: Sequence[Any],
    columns: Sequence[str],
    next_before: str | None = None,
    *,
    empty: str = "",
    extra: Sequence[str] = (),
    compute: Compute | None = None,
) -> Result:
    """A list: a page of JSON, or a table of these columns that says how to get what follows.

    Args:
        records: the client's, whose ``raw`` is their JSON, or JSON objects.
        columns: ``heading=path|default``; the path is the heading where there is none, and begins
            with ``@`` where ``compute`` has the value.
        empty: see `show_table`, as ``extra``.
    """

    def show() -> None:
        cells = [_cell(column, compute or {}) for column in columns]
        rows = [[cell(record) for cell in cells] for record in records]
        headings = [column.partition("=")[0] for column in columns]
        show_table(headings, rows, empty=empty, extra=extra)
        say_more(next_before)

    data = page((getattr(record, "raw", record) for record in records), next_before)
    return Result(data, show)


def say_more(next_before: str | None) -> None:
    """Below a table, how to get what follows."""
    if next_before is not None:
        say(f"there are more: --limit, or --before {next_before}")


def _cell(column: str, compute: Compute) -> Callable[[Any], object]:
    """What a record has in a column."""
    heading, separator, path = column.partition("=")
    path, _, default = (path if separator else heading).partition("|")
    if path.startswith("@"):
        return compute[path[1:]]

    def value(record: Any) -> object:
        for name in path.split("."):
            record = record.get(name) if isinstance(record, Mapping) else getattr(record, name)
        if isinstance(record, list | tuple):
            record = ", ".join(map(str, record))
        return record or default if default else record

    return value
