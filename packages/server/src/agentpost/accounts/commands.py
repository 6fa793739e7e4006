"""The account behind a key, and what it used."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from agentpost.cli import given
from agentpost.cli.connection import connect
from agentpost.cli.options import AsJson, Before, Limit, ProfileName, Since, Until, one_of
from agentpost.cli.printing import first, print_json, screen, show_page
from agentpost.cli.tables import show_table

EXAMPLES: Final = {
    "me": """
        agentpost me
        agentpost me --profile work
    """,
    "usage": """
        agentpost usage --since 7d
        agentpost usage --by key --since 2026-11-01 --until 2026-12-01 --json
    """,
}
_GROUPS: Final = ("day", "key", "conversation")
_PAGE_MAX: Final = 100


def attach(app: typer.Typer) -> None:
    """Register the commands on the program."""
    app.command()(me)
    app.command()(usage)


def me(as_json: AsJson = False, profile: ProfileName = None) -> None:
    """Show the account behind the key: credits, limits, agent."""
    with connect(profile) as client:
        account = client.me()
    if as_json:
        print_json(account.raw)
    else:
        screen().account(account)


def usage(
    by: Annotated[
        str,
        typer.Option(
            metavar="day|key|conversation",
            help="Group by.",
            autocompletion=one_of(*_GROUPS),
        ),
    ] = "day",
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    before: Before = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Show the messages, jobs and credits of the account, by day, key or conversation.

    By default, of the last 30 days.
    """
    if by not in _GROUPS:
        raise typer.BadParameter(f"--by is one of {', '.join(_GROUPS)}")
    start, end = given.moment(since, "--since"), given.moment(until, "--until")
    with connect(profile) as client:
        size = min(limit + 1, _PAGE_MAX)
        pages = client.usage(by, start=start, end=end, limit=size, before=before)
        lines, more = first(pages, limit, lambda line: line.id)
    if by == "day":
        columns: tuple[str, ...] = ("day", "messages", "jobs", "credits")
        rows: list[tuple[object, ...]] = [
            (line.id, line.messages, line.jobs, line.credits) for line in lines
        ]
    else:
        columns = (f"{by}_id", "name", "messages", "jobs", "credits")
        rows = [(line.id, line.name, line.messages, line.jobs, line.credits) for line in lines]
    table = partial(show_table, columns, rows, empty="nothing was used in this time")
    show_page(lines, more, as_json, table)
