"""`agentpost doctor`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from agentpost.cli.context import AsJson, guarded, show_rows, with_context
from agentpost.cli.printing import print_json, print_text

EXAMPLES: Final = {
    "doctor": """
        agentpost doctor
        agentpost doctor --full --json
    """,
}


def attach(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor_command)


def doctor_command(
    full: Annotated[
        bool, typer.Option("--full", help="Check every file instead of a sample.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List problems: failing stores, overdue work, lost files; exit code 1 when there are any."""
    from agentpost import bootstrap
    from agentpost.services import doctor
    from agentpost.settings import load_settings

    settings = guarded(load_settings)
    if guarded(
        lambda: bootstrap.is_new(settings)
    ):  # opening it would make a new one, where all is well
        text = f"there is no database in {settings.data_path}; if there was one, restore a backup"
        findings = [doctor.Finding("database", "missing", text).as_dict()]
    else:
        findings = [
            finding.as_dict() for finding in with_context(partial(doctor.examine, full=full))
        ]
    if as_json:
        print_json({"ok": not findings, "findings": findings}, indented=True)
    elif not findings:
        print_text("No problems found.")
    else:
        show_rows(findings, False, ("id", "state", "problem"))
    if findings:
        raise typer.Exit(1)
