"""The account behind a key, and what it used."""

from typing import Annotated, Final, Literal

import typer

from agentpost.cli import given
from agentpost.cli.commands import command
from agentpost.cli.connection import connect
from agentpost.cli.options import Before, Limit, ProfileName, Since, Until
from agentpost.cli.printing import Result, first, listing, screen

_PAGE_MAX: Final = 100


@command("me", "agentpost me", "agentpost me --profile work")
def me(profile: ProfileName = None) -> Result:
    """Show the account behind the key: credits, limits, agent."""
    with connect(profile) as client:
        account = client.me()
    return Result(account.raw, lambda: screen().account(account))


@command(
    "usage",
    "agentpost usage --since 7d",
    "agentpost usage --by key --since 2026-11-01 --until 2026-12-01 --json",
)
def usage(
    by: Annotated[
        Literal["day", "key", "conversation"],
        typer.Option(metavar="day|key|conversation", help="Group by."),
    ] = "day",
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    before: Before = None,
    profile: ProfileName = None,
) -> Result:
    """Show the messages, jobs and credits of the account, by day, key or conversation.

    By default, of the last 30 days.
    """
    start, end = given.moment(since, "--since"), given.moment(until, "--until")
    with connect(profile) as client:
        size = min(limit + 1, _PAGE_MAX)
        pages = client.usage(by, start=start, end=end, limit=size, before=before)
        lines, more = first(pages, limit, lambda line: line.id)
    subject = ("day=id",) if by == "day" else (f"{by}_id=id", "name")
    columns = (*subject, "messages", "jobs", "credits")
    return listing(lines, columns, more, empty="nothing was used in this time")
