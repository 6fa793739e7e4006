"""Work: where jobs run and leave their files."""

from typing import Annotated

import typer

from agentpost.cli import resources
from agentpost.cli.commands import command
from agentpost.cli.connection import connect
from agentpost.cli.options import ProfileName
from agentpost.cli.printing import Result, screen

WorkId = Annotated[str, typer.Argument(metavar="WORK_ID")]


@command("work show", "agentpost work show wrk_0660c5")
def work_show(work_id: WorkId, profile: ProfileName = None) -> Result:
    """Show a piece of work with the whole text of its latest result."""
    with connect(profile) as client:
        work = page = client.work(work_id)
        text = page.text
        while page.next_from_char is not None:
            page = client.work(work_id, page.next_from_char)
            text += page.text
    record = {**work.raw, "text": text, "next_from_char": None}
    return Result(record, lambda: screen().work(work, text))


resources.declare("work list", "agentpost work list --limit 5")
resources.declare(
    "work stop",
    "agentpost work stop wrk_0660c5",
    show=lambda stopped: screen().work(stopped, stopped.text),
)
resources.declare("work delete", "agentpost work delete wrk_0660c5")
