"""Work: where jobs run and leave their files."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from agentpost.cli.commands import group
from agentpost.cli.connection import connected
from agentpost.cli.options import AsJson, ProfileName
from agentpost.cli.printing import print_json, screen

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
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many of the newest.")] = 20,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """List the account's newest work."""
    with connected(profile) as client:
        items = client.work_list(limit)
    if as_json:
        print_json([item.raw for item in items])
    else:
        screen().work_list(items)


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
