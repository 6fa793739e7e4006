"""Work: where jobs run and leave their files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentpost.cli.commands import group
from agentpost.cli.connection import connected
from agentpost.cli.options import AsJson, Before, Limit, ProfileName
from agentpost.cli.pages import first, show_page
from agentpost.cli.printing import print_json, screen

if TYPE_CHECKING:
    from agentpost_client import Client
    from agentpost_client.models import WorkItem

EXAMPLES: Final = {
    "work list": """
        agentpost work list --limit 5
    """,
    "work show": """
        agentpost work show wrk_0660c5
    """,
    "work stop": """
        agentpost work stop wrk_0660c5
    """,
    "work delete": """
        agentpost work delete wrk_0660c5
    """,
}
_PAGE_MAX: Final = 50
WorkId = Annotated[str, typer.Argument(metavar="WORK_ID")]


def attach(app: typer.Typer) -> None:
    """Register the commands on the program."""
    work = group("Work the agent has done or is doing.")
    work.command("list")(work_list)
    work.command("show")(work_show)
    work.command("stop")(work_stop)
    work.command("delete")(work_delete)
    app.add_typer(work, name="work")


def work_list(
    limit: Limit = 20,
    before: Before = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """List the account's work, newest first."""
    with connected(profile) as client:
        items, more = first(_works(client, limit, before), limit, lambda item: item.work_id)
    show_page(items, more, as_json, lambda: screen().work_list(items))


def _works(client: Client, limit: int, before: str | None) -> Iterator[WorkItem]:
    size = min(limit + 1, _PAGE_MAX)
    page = client.work.list(size, before=before)
    yield from page
    while len(page) == size:
        page = client.work.list(size, before=page[-1].work_id)
        yield from page


def work_show(work_id: WorkId, as_json: AsJson = False, profile: ProfileName = None) -> None:
    """Show a piece of work with the whole text of its latest result."""
    with connected(profile) as client:
        work = page = client.work(work_id)
        text = page.text
        while page.next_from_char is not None:
            page = client.work(work_id, page.next_from_char)
            text += page.text
    if as_json:
        print_json({**work.raw, "text": text, "next_from_char": None})
    else:
        screen().work(work, text)


def work_stop(work_id: WorkId, as_json: AsJson = False, profile: ProfileName = None) -> None:
    """Stop what runs in a piece of work; files made so far stay."""
    with connected(profile) as client:
        work = client.stop(work_id)
    if as_json:
        print_json(work.raw)
    else:
        screen().work(work, work.text)


def work_delete(work_id: WorkId, as_json: AsJson = False, profile: ProfileName = None) -> None:
    """Delete a piece of work with its files, unless something runs in it."""
    with connected(profile) as client:
        gone = client.work.delete(work_id)
    if as_json:
        print_json(gone.raw)
    else:
        screen().line(f"✓ {gone.work_id} is deleted")
