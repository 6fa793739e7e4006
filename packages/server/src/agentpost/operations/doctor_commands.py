"""`agentpost doctor`."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

import typer

from agentpost.cli.commands import command
from agentpost.cli.context import run_or_exit, with_context
from agentpost.cli.printing import Result, print_text, report
from agentpost.cli.tables import show_table

_COLUMNS: Final = ("id", "state", "problem")


@command("doctor", "agentpost doctor", "agentpost doctor --full --json")
def doctor_command(
    full: Annotated[
        bool, typer.Option("--full", help="Check every file instead of a sample.")
    ] = False,
) -> Result:
    """List problems: failing stores, overdue work, lost files; exit code 1 when there are any.

    Webhook endpoints that do not accept deliveries are warnings: they leave the exit code at 0."""
    from agentpost import bootstrap
    from agentpost.operations import doctor
    from agentpost.settings import load_settings

    settings = run_or_exit(load_settings)
    # Opening a database that is missing would make a new one, where all is well.
    if run_or_exit(lambda: bootstrap.is_new(settings)):
        text = f"there is no database in {settings.data_path}; if there was one, restore a backup"
        outcome = doctor.Report([doctor.Finding("database", "missing", text)], [])
    else:
        outcome = with_context(partial(doctor.report, full=full))
    findings, warnings = outcome
    record = {
        "ok": not findings,
        "findings": [each._asdict() for each in findings],
        "warnings": [each._asdict() for each in warnings],
    }
    return report(record, partial(_show, *outcome), code=1 if findings else 0)


def _show(
    findings: Sequence[tuple[str, str, str]], warnings: Sequence[tuple[str, str, str]]
) -> None:
    if not findings:
        print_text("The server has no problems." if warnings else "No problems found.")
    else:
        show_table(_COLUMNS, findings)
    if warnings:
        print_text("\nWarnings:")
        show_table(_COLUMNS, warnings)
