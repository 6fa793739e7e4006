"""More commands for the operator: limits, maintenance, the doctor, a timeline, sign-in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from agentpost.accounts.operator_commands import Account
from agentpost.cli.commands import command
from agentpost.cli.context import change, option_value, run_or_exit, with_context
from agentpost.cli.printing import Result, print_text
from agentpost.cli.tables import show_table

if TYPE_CHECKING:
    from agentpost.context import AppContext
    from agentpost.explain.timeline import Timeline

Number = Annotated[str | None, typer.Option(metavar="N|default", help="Number, or 'default'.")]

_PROBLEM: Final = ("id", "state", "problem")
_DIGITS_MAX = 9
_BYTES_DIGITS_MAX = 15


@command(
    "limits set",
    "agentpost limits set team@example.com --running-jobs 10",
    "agentpost limits set team@example.com --messages-per-day default",
)
def limits_set(
    account: Account,
    requests_per_minute: Number = None,
    messages_per_hour: Number = None,
    messages_per_day: Number = None,
    waits_per_hour: Number = None,
    work_reads_per_hour: Number = None,
    running_jobs: Number = None,
    stored_bytes: Number = None,
    conversation_required: Annotated[
        str | None,
        typer.Option(metavar="0|1|default", help="1: every message has to name a conversation."),
    ] = None,
) -> Result:
    """Override limits for one account; 'default' restores the setting.

    Running servers apply it within a second.
    """
    from agentpost.limits import allowances

    options = {
        "requests_per_minute": requests_per_minute,
        "messages_per_hour": messages_per_hour,
        "messages_per_day": messages_per_day,
        "waits_per_hour": waits_per_hour,
        "work_reads_per_hour": work_reads_per_hour,
        "running_jobs": running_jobs,
        "stored_bytes": stored_bytes,
        "conversation_required": conversation_required,
    }
    texts = {name: text for name, text in options.items() if text is not None}
    changes = option_value(
        lambda: allowances.validate({name: _number(name, text) for name, text in texts.items()})
    )
    if not changes:
        raise typer.BadParameter(
            f"set at least one limit: {', '.join(map(_option, allowances.NAMES))}"
        )

    async def override(ctx: AppContext) -> dict[str, Any]:
        await allowances.override(ctx, account, changes)
        return await _limits(ctx, account)

    limits = change(override, account, changes)
    return Result(limits, partial(_show_limits, limits))


@command("limits show", "agentpost limits show team@example.com")
def limits_show(account: Account) -> Result:
    """Show the limits of an account."""
    limits = with_context(lambda ctx: _limits(ctx, account))
    return Result(limits, partial(_show_limits, limits))


@command("limits recount", "agentpost limits recount team@example.com")
def limits_recount(account: Account) -> Result:
    """Recount the bytes an account has stored, when `doctor` reports a wrong number."""
    from agentpost.limits import allowances

    stored_bytes = change(lambda ctx: allowances.recount(ctx, account), account)
    text = f"{account}: {stored_bytes:,} bytes are stored"
    return Result({"stored_bytes_now": stored_bytes}, text)


@command("maintenance on", "agentpost maintenance on")
def maintenance_on() -> Result:
    """Switch the API off: requests get 503, running work continues."""
    return _switch(True)


@command("maintenance off", "agentpost maintenance off")
def maintenance_off() -> Result:
    """Switch the API on."""
    return _switch(False)


@command("explain", "agentpost explain msg_0660c5")
def explain(
    message_id: Annotated[str, typer.Argument(help="Id of the message, msg_….")],
) -> Result:
    """Show what happened to a message: a timeline of its calls, events and deliveries."""
    from agentpost.explain import timeline

    story = with_context(lambda ctx: timeline.build(ctx, message_id))
    lines = [line.as_dict() for line in story.lines]
    return Result({"message": story.summary, "story": lines}, partial(_show_story, story))


def _show_story(story: Timeline) -> None:
    for name, value in story.summary.items():
        if name != "jobs" and value is not None:
            print_text(f"{name}: {value}")
    for job_id, facts in story.summary["jobs"].items():
        text = ", ".join(f"{n} {v}" for n, v in facts.items() if v is not None)
        print_text(f"job {job_id}: {text}")
    print_text()
    for line in story.lines:
        print_text(line.as_text())


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
    return Result(record, partial(_show_problems, *outcome), code=1 if findings else 0)


def _show_problems(
    findings: Sequence[tuple[str, str, str]], warnings: Sequence[tuple[str, str, str]]
) -> None:
    if not findings:
        print_text("The server has no problems." if warnings else "No problems found.")
    else:
        show_table(_PROBLEM, findings)
    if warnings:
        print_text("\nWarnings:")
        show_table(_PROBLEM, warnings)


# --- parts ----------------------------------------------------------------------------------------
def _number(name: str, text: str) -> int | None:
    if text == "default":
        return None
    digits = _BYTES_DIGITS_MAX if name == "stored_bytes" else _DIGITS_MAX
    if not (text.isascii() and text.isdigit() and len(text) <= digits):
        raise ValueError(f"{_option(name)} takes a whole number or 'default'")
    return int(text)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


async def _limits(ctx: AppContext, account: str) -> dict[str, Any]:
    from agentpost.limits import allowances

    allowed, overridden, stored_bytes = await allowances.show(ctx, account)
    return {
        "limits": allowed.as_dict(),
        "overridden": sorted(overridden),
        "stored_bytes_now": stored_bytes,
    }


def _show_limits(limits: dict[str, Any]) -> None:
    for name, value in limits["limits"].items():
        print_text(
            f"{name} = {value}" + ("  (set for this account)" * (name in limits["overridden"]))
        )
    print_text(f"stored_bytes_now = {limits['stored_bytes_now']}")


def _switch(on: bool) -> Result:
    from agentpost.operations import maintenance

    change(lambda ctx: maintenance.switch(ctx, on=on))
    state = "off: it answers 503 unavailable" if on else "on"
    return Result({"maintenance": on}, f"The API is switched {state}.")


@command("login-link", "agentpost login-link", "agentpost login-link team@example.com")
def login_link(
    account: Annotated[
        str | None,
        typer.Argument(help="Account id or e-mail address; optional with one account."),
    ] = None,
) -> Result:
    """Create a link that signs one browser in to the dashboard, once, within 15 minutes."""
    from agentpost.domain.times import iso
    from agentpost.sessions import actions as sessions

    link = change(lambda ctx: sessions.make_link(ctx, account), account or "")
    shape = {
        "account_id": link.account.id,
        "email": link.account.email,
        "url": link.url,
        "expires_at": iso(link.expires_at),
    }
    return Result(shape, link.url)
