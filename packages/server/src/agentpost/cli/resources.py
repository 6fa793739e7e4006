"""The commands that are made from the table of operations: lists, and what is done to one record.

Each calls the client's method of the same words: ``schedules list`` is ``client.schedules.list``.
With --json it prints what the API answered: a record, or a page with ``has_more`` and the
``next_before`` that the next call is given with --before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Final

import typer

from agentpost.cli.connection import connect
from agentpost.cli.operations import COMMANDS
from agentpost.cli.options import AsJson, Before, Limit, ProfileName
from agentpost.cli.printing import first, print_json, screen, show_page
from agentpost.cli.tables import show_table

METHODS: Final = {"show": "get"}
"""Words that the client has another name for."""
Compute = Mapping[str, Callable[[Any], object]]
"""Columns that are computed from a record, by the name behind the ``@`` of their path."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the table; see `agentpost.api.operation.Command`.

    ``subject`` is the id that it is called with, ``page_max`` how many records a page may have.
    """

    words: str
    summary: str
    subject: str = ""
    columns: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    empty: str = ""
    page_default: int | None = None
    page_max: int | None = None

    @property
    def name(self) -> str:
        """Its last word."""
        return self.words.rpartition(" ")[2]

    def method(self, client: Any) -> Any:
        """The client's method that it calls."""
        group, _, name = self.words.partition(" ")
        return getattr(getattr(client, group), METHODS.get(name, name))

    def page_size(self, limit: int) -> int:
        """How many records to ask for at once: one more tells whether there are more."""
        return limit + 1 if self.page_max is None else min(limit + 1, self.page_max)


def command(words: str) -> Command:
    """The command of these words."""
    return Command(**next(each for each in COMMANDS if each["words"] == words))


def attach(
    group: typer.Typer,
    words: str,
    show: Callable[[Any], None] | None = None,
    compute: Compute | None = None,
) -> None:
    """Add a command to its group: of a list, which may have columns to ``compute``, or of one
    record, which ``show`` prints. Without it the command says that the record is deleted."""
    spec = command(words)
    if spec.columns:
        group.command(spec.name)(_list_command(spec, compute or {}))
    else:
        group.command(spec.name)(_record_command(spec, show or _say_deleted))


def show_list(
    spec: Command,
    records: Sequence[Any],
    next_before: str | None,
    *,
    as_json: bool,
    compute: Compute | None = None,
) -> None:
    """Print the records of a list: as a page of JSON, or as a table with the list's columns."""
    columns = [column.partition("=")[0] for column in spec.columns]
    cells = [_cell(column, compute or {}) for column in spec.columns]
    rows = [[cell(record) for cell in cells] for record in records]
    table = partial(show_table, columns, rows, empty=spec.empty, extra=spec.extra)
    show_page(records, next_before, as_json, table)


def _list_command(spec: Command, compute: Compute) -> Callable[..., None]:
    id_of = attrgetter(spec.columns[0].partition("=")[0])

    def all_at_once(as_json: AsJson = False, profile: ProfileName = None) -> None:
        with connect(profile) as client:
            records = spec.method(client)()
        show_list(spec, records, None, as_json=as_json, compute=compute)

    def in_pages(
        limit: Limit = spec.page_default or 0,
        before: Before = None,
        as_json: AsJson = False,
        profile: ProfileName = None,
    ) -> None:
        with connect(profile) as client:
            pages = _read(spec, client, spec.page_size(limit), before, id_of)
            records, more = first(pages, limit, id_of)
        show_list(spec, records, more, as_json=as_json, compute=compute)

    function: Callable[..., None] = all_at_once if spec.page_max is None else in_pages
    function.__doc__ = spec.summary
    return function


def _read(
    spec: Command, client: Any, size: int, before: str | None, id_of: Callable[[Any], str]
) -> Iterator[Any]:
    """All records of a list, in pages of that size that are asked for as they are needed."""
    while True:
        page = spec.method(client)(limit=size, before=before)
        yield from page
        if not isinstance(page, tuple) or len(page) < size:
            return  # else the client gave one page, where it gives all of other lists
        before = id_of(page[-1])


def _record_command(spec: Command, show: Callable[[Any], None]) -> Callable[..., None]:
    def function(subject: str, as_json: AsJson = False, profile: ProfileName = None) -> None:
        with connect(profile) as client:
            record = spec.method(client)(subject)
        if as_json:
            print_json(record.raw)
        else:
            show(record)

    function.__doc__ = spec.summary
    function.__annotations__["subject"] = Annotated[str, typer.Argument(metavar=spec.subject)]
    return function


def _say_deleted(record: Any) -> None:
    record_id = record.raw.get("id") or record.raw.get("work_id")
    screen().line(f"✓ {record_id} is deleted")


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
