"""Schedules: messages that the server sends at given times."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from agentpost.cli import given, resources
from agentpost.cli.commands import command
from agentpost.cli.connection import connect
from agentpost.cli.options import (
    Busy,
    ConversationName,
    MaxCredits,
    Metadata,
    ProfileName,
    ResponseSchema,
    one_of,
)
from agentpost.cli.printing import Result, screen

if TYPE_CHECKING:
    from agentpost_client.models import Schedule

ScheduleId = Annotated[str, typer.Argument(metavar="SCHEDULE_ID")]


@command(
    "schedules create",
    'agentpost schedules create "Write the weekly report" --cron "0 8 * * 1" \\\n'
    "--timezone Europe/Berlin",
    'agentpost schedules create "Call Ada" --at 2030-01-02T09:00+01:00',
)
def schedules_create(
    message: Annotated[str, typer.Argument(help="Message to send.")],
    cron: Annotated[
        str | None,
        typer.Option(help="Minute, hour, day of month, month, day of week: '0 8 * * 1'."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time of a single run: ISO 8601, or 2h from now."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="Time zone of --cron, such as Europe/Berlin; by default UTC.")
    ] = None,
    missed: Annotated[
        str | None,
        typer.Option(
            metavar="skip|run_once",
            help="If no server was running at the time.",
            autocompletion=one_of("skip", "run_once"),
        ),
    ] = None,
    conversation: ConversationName = None,
    metadata: Metadata = None,
    busy: Busy = None,
    max_credits: MaxCredits = None,
    response_schema: ResponseSchema = None,
    profile: ProfileName = None,
) -> Result:
    """Send a message on a schedule (--cron) or once (--at)."""
    if (cron is None) == (at is None):
        raise typer.BadParameter("use --cron or --at")
    with connect(profile) as client:
        schedule = client.schedules.create(
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
    return Result(schedule.raw, partial(_print, schedule))


@command("schedules pause", "agentpost schedules pause sch_0660c5")
def schedules_pause(schedule_id: ScheduleId, profile: ProfileName = None) -> Result:
    """Pause a schedule. Runs that fall into the pause are skipped."""
    return _set_paused(schedule_id, profile, True)


@command("schedules resume", "agentpost schedules resume sch_0660c5")
def schedules_resume(schedule_id: ScheduleId, profile: ProfileName = None) -> Result:
    """Resume a paused schedule."""
    return _set_paused(schedule_id, profile, False)


def _set_paused(schedule_id: str, profile: str | None, paused: bool) -> Result:
    with connect(profile) as client:
        schedule = client.schedules.update(schedule_id, paused=paused)
    return Result(schedule.raw, partial(_print, schedule))


def _print(schedule: Schedule) -> None:
    output_screen = screen()
    times = f"{schedule.cron} ({schedule.timezone})" if schedule.cron else "once"
    output_screen.line(f"{schedule.status} · {schedule.id} · {times}", style="bold")
    output_screen.line(f"message: {schedule.message.get('message', '')}")
    if schedule.next_run_at is not None:
        output_screen.line(f"next run: {schedule.next_run_at:%Y-%m-%d %H:%M:%S %Z}")
    last = schedule.last_run
    if last is not None and last.planned_at is not None:
        which = last.message_id or last.error or ""
        output_screen.line(
            f"last run: {last.planned_at:%Y-%m-%d %H:%M:%S %Z} {last.outcome} {which}"
        )
    if schedule.missed_runs:
        output_screen.line(f"missed runs: {schedule.missed_runs}", style="yellow")


resources.declare("schedules list", "agentpost schedules list")
resources.declare("schedules show", "agentpost schedules show sch_0660c5", show=_print)
resources.declare("schedules delete", "agentpost schedules delete sch_0660c5")
