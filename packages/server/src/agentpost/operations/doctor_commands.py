"""`agentpost doctor`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from agentpost.cli.context import AsJson, run_or_exit, show_rows, with_context
from agentpost.cli.printing import print_json, print_text

EXAMPLES: Final = {
    "doctor": """
        agentpost doctor
        agentpost doctor --full --json
    """,
}

_COLUMNS: Final = ("id", "state", "problem")


def attach(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor_command)


def doctor_command(
    full: Annotated[
        bool, typer.Option("--full", help="Check every file instead of a sample.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List problems: failing stores, overdue work, lost files; exit code 1 when there are any.

    Webhook endpoints that do not accept deliveries are warnings: they leave the exit code at 0."""
    from agentpost import bootstrap
    from agentpost.operations import doctor
    from agentpost.settings import load_settings

    settings = run_or_exit(load_settings)
    # Opening a database that is missing would make a new one, where all is well.
    if run_or_exit(lambda: bootstrap.is_new(settings)):
        text = f"there is no database in {settings.data_path}; if there was one, restore a backup"
        report = doctor.Report([doctor.Finding("database", "missing", text)], [])
    else:
        report = with_context(partial(doctor.report, full=full))
    findings = [finding.as_dict() for finding in report.findings]
    warnings = [warning.as_dict() for warning in report.warnings]
    if as_json:
        answer = {"ok": not findings, "findings": findings, "warnings": warnings}
        print_json(answer, indented=True)
    else:
        if findings:
            show_rows(findings, False, _COLUMNS)
        else:
            print_text("The server has no problems." if warnings else "No problems found.")
        if warnings:
            print_text("\nWarnings:")
            show_rows(warnings, False, _COLUMNS)
    if findings:
        raise typer.Exit(1)
