"""The commands that are made from the table of operations: lists, and what is done to one record.

Each calls the client's method of the same words: ``schedules list`` is ``client.schedules.list``.
With --json it prints what the API answered: a record, or a page with ``has_more`` and the
``next_before`` that the next call is given with --before.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from agentpost.cli.commands import command
from agentpost.cli.connection import connect
from agentpost.cli.options import Before, Limit, ProfileName
from agentpost.cli.printing import Compute, Result, first, listing, screen

COMMANDS: Final = json.loads(Path(__file__).with_name("operations.json").read_text("utf-8"))
"""Made by docs/commands.py."""
METHODS: Final = {"show": "get"}
"""Words that the client has another name for."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the table; see `agentpost.api.operation.Command`. ``subject`` is the id that it
    is called with, ``page_max`` how many records a page may have."""

    words: str
    summary: str
    subject: str = ""
    columns: Sequence[str] = ()
    extra: Sequence[str] = ()
    empty: str = ""
    page_default: int | None = None
    page_max: int | None = None

    def method(self, client: Any) -> Any:
        """The client's method that it calls."""
        group, _, name = self.words.partition(" ")
        return getattr(getattr(client, group), METHODS.get(name, name))

    def page_size(self, limit: int) -> int:
        """How many records to ask for at once: one more tells whether there are more."""
        return limit + 1 if self.page_max is None else min(limit + 1, self.page_max)

    def listing(
        self, records: Sequence[Any], more: str | None = None, compute: Compute | None = None
    ) -> Result:
        """Records of the list, and the ``next_before`` of `printing.page`."""
        return listing(
            records, self.columns, more, empty=self.empty, extra=self.extra, compute=compute
        )


def find(words: str) -> Command:
    """The command of these words."""
    return Command(**next(each for each in COMMANDS if each["words"] == words))


def declare(
    words: str,
    *examples: str,
    show: Callable[[Any], object] | None = None,
    compute: Compute | None = None,
) -> None:
    """Declare a command of the table: of a list, which may have columns to ``compute``, or of one
    record, which ``show`` prints. Without it the command says that the record is deleted."""
    spec = find(words)
    is_list = bool(spec.columns)
    function = _list_command(spec, compute) if is_list else _record_command(spec, show)
    command(words, *examples)(function)


def _list_command(spec: Command, compute: Compute | None) -> Callable[..., Result]:
    id_of = attrgetter(spec.columns[0].partition("=")[0])

    def all_at_once(profile: ProfileName = None) -> Result:
        with connect(profile) as client:
            return spec.listing(spec.method(client)(), compute=compute)

    def in_pages(
        limit: Limit = spec.page_default or 0, before: Before = None, profile: ProfileName = None
    ) -> Result:
        with connect(profile) as client:
            pages = _read(spec, client, spec.page_size(limit), before, id_of)
            return spec.listing(*first(pages, limit, id_of), compute)

    function: Callable[..., Result] = all_at_once if spec.page_max is None else in_pages
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


def _record_command(spec: Command, show: Callable[[Any], object] | None) -> Callable[..., Result]:
    def function(subject: str, profile: ProfileName = None) -> Result:
        with connect(profile) as client:
            record = spec.method(client)(subject)
        return Result(record.raw, partial(show or _say_deleted, record))

    function.__doc__ = spec.summary
    function.__annotations__["subject"] = Annotated[str, typer.Argument(metavar=spec.subject)]
    return function


def _say_deleted(record: Any) -> None:
    record_id = record.raw.get("id") or record.raw.get("work_id")
    screen().line(f"✓ {record_id} is deleted")
