"""Schedules: messages that the server sends at given times."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentpost.cli import given
from agentpost.cli.commands import group
from agentpost.cli.connection import connected
from agentpost.cli.options import (
    AsJson,
    Before,
    Busy,
    Limit,
    MaxCredits,
    Metadata,
    ProfileName,
    ResponseSchema,
    one_of,
)
from agentpost.cli.pages import first, show_page
from agentpost.cli.printing import print_json, screen
from agentpost.cli.tables import show_table

if TYPE_CHECKING:
    from agentpost_client.models import Schedule

EXAMPLES: Final = {
    "schedules create": """
        agentpost schedules create "Write the weekly report" --cron "0 8 * * 1" \\
            --timezone Europe/Berlin
        agentpost schedules create "Call Ada" --at 2030-01-02T09:00+01:00
    """,
    "schedules list": """
        agentpost schedules list
    """,
    "schedules show": """
        agentpost schedules show sch_0660c5
    """,
    "schedules pause": """
        agentpost schedules pause sch_0660c5
    """,
    "schedules resume": """
        agentpost schedules resume sch_0660c5
    """,
    "schedules delete": """
        agentpost schedules delete sch_0660c5
    """,
}
_PAGE_MAX: Final = 100
ScheduleId = Annotated[str, typer.Argument(metavar="SCHEDULE_ID")]


def attach(app: typer.Typer) -> None:
    """Register the commands on the program."""
    schedules = group("Messages that are sent at given times.")
    schedules.command("create")(schedules_create)
    schedules.command("list")(schedules_list)
    schedules.command("show")(schedules_show)
    schedules.command("pause")(schedules_pause)
    schedules.command("resume")(schedules_resume)
    schedules.command("delete")(schedules_delete)
    app.add_typer(schedules, name="schedules")


def schedules_create(
    message: Annotated[str, typer.Argument(help="The message to send.")],
    cron: Annotated[
        str | None,
        typer.Option(help="Minute, hour, day of month, month, day of week: '0 8 * * 1'."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="One run: an ISO 8601 time, or 2h from now."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="Of --cron, such as Europe/Berlin; else UTC.")
    ] = None,
    missed: Annotated[
        str | None,
        typer.Option(
            metavar="skip|run_once",
            help="For runs while no server was there.",
            autocompletion=one_of("skip", "run_once"),
        ),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", help="The conversation to continue.")
    ] = None,
    metadata: Metadata = None,
    busy: Busy = None,
    max_credits: MaxCredits = None,
    response_schema: ResponseSchema = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Send a message by a timetable (--cron), or once (--at)."""
    if (cron is None) == (at is None):
        raise typer.BadParameter("give --cron or --at")
    with connected(profile) as client:
        made = client.schedules.create(
            message,
            cron=cron,
            at=given.moment(at, "--at", ahead=True),
            timezone=timezone,
            missed=missed,
            conversation=conversation,
            metadata=given.pairs(metadata, "--metadata"),
            busy=busy,
            max_credits=max_credits,
            response_schema=given.json_object(response_schema, "--response-schema"),
        )
    _show(made, as_json)


def schedules_list(
    limit: Limit = 50,
    before: Before = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """List the schedules of the key, newest first."""
    with connected(profile) as client:
        pages = client.schedules.list(limit=min(limit + 1, _PAGE_MAX), before=before)
        items, more = first(pages, limit, lambda item: item.id)
    rows = [(s.id, s.status, s.cron or "once", s.next_run_at, _message(s)) for s in items]
    columns = ("id", "status", "cron", "next_run", "message")
    empty = "no schedule yet: agentpost schedules create makes one"
    show_page(items, more, as_json, partial(show_table, columns, rows, empty=empty))


def schedules_show(
    schedule_id: ScheduleId, as_json: AsJson = False, profile: ProfileName = None
) -> None:
    """Show a schedule with its next and its last run."""
    with connected(profile) as client:
        found = client.schedules.get(schedule_id)
    _show(found, as_json)


def schedules_pause(
    schedule_id: ScheduleId, as_json: AsJson = False, profile: ProfileName = None
) -> None:
    """Pause a schedule: its times pass, and are not missed runs."""
    with connected(profile) as client:
        changed = client.schedules.update(schedule_id, paused=True)
    _show(changed, as_json)


def schedules_resume(
    schedule_id: ScheduleId, as_json: AsJson = False, profile: ProfileName = None
) -> None:
    """Let a paused schedule run again."""
    with connected(profile) as client:
        changed = client.schedules.update(schedule_id, paused=False)
    _show(changed, as_json)


def schedules_delete(
    schedule_id: ScheduleId, as_json: AsJson = False, profile: ProfileName = None
) -> None:
    """Delete a schedule; the messages it has sent stay."""
    with connected(profile) as client:
        gone = client.schedules.delete(schedule_id)
    if as_json:
        print_json(gone.raw)
    else:
        screen().line(f"✓ {gone.id} is deleted")


def _show(schedule: Schedule, as_json: bool) -> None:
    if as_json:
        print_json(schedule.raw)
        return
    shown = screen()
    times = f"{schedule.cron} ({schedule.timezone})" if schedule.cron else "once"
    shown.line(f"{schedule.status} · {schedule.id} · {times}", style="bold")
    shown.line(f"message: {_message(schedule)}")
    if schedule.next_run_at is not None:
        shown.line(f"next run: {schedule.next_run_at:%Y-%m-%d %H:%M:%S %Z}")
    last = schedule.last_run
    if last is not None and last.planned_at is not None:
        which = last.message_id or last.error or ""
        shown.line(f"last run: {last.planned_at:%Y-%m-%d %H:%M:%S %Z} {last.outcome} {which}")
    if schedule.missed_runs:
        shown.line(f"missed runs: {schedule.missed_runs}", style="yellow")


def _message(schedule: Schedule) -> str:
    return str(schedule.message.get("message", ""))
