"""Messages that are sent at given times: the account's schedules, and the runs of one."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from starlette.requests import Request

from agentpost.accounts import actions as accounts
from agentpost.context import AppContext
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, InvalidRequest, Refusal
from agentpost.domain.times import SECOND
from agentpost.http import audited
from agentpost.schedules import actions as schedules, recurrence
from agentpost.schedules.rules import Missed, RunOutcome, ScheduleRecord, ScheduleStatus
from agentpost.users.role_rules import Right
from agentpost.web import forms
from agentpost.web.forms import Form
from agentpost.web.listing import Listing
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer

PATH: Final = "/dashboard/schedules"
_PAGE: Final = 50
_MISSED: Final = (
    (Missed.SKIP.value, "Skip them"),
    (Missed.RUN_ONCE.value, "Send one message"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A schedule as people read it: its text, when it runs in words, and how it stands as a kind of
    state with a word."""

    schedule: ScheduleRecord
    text: str
    when: str
    kind: str
    state: str

    @classmethod
    def of(cls, schedule: ScheduleRecord) -> "Line":
        """From its record."""
        text = str(json.loads(schedule.message_json).get("message", ""))
        when = "once"
        if schedule.cron is not None:
            when = f"{recurrence.in_words(schedule.cron)} ({schedule.timezone})"
        kind, state = "stopped", schedule.status.value
        if schedule.status is ScheduleStatus.ACTIVE:
            is_refused = schedule.last_outcome is RunOutcome.REFUSED
            kind, state = ("wrong", "last run refused") if is_refused else ("good", state)
        return cls(schedule, text, when, kind, state)


async def show(ctx: AppContext, request: Request, viewer: Viewer, form: Form | None = None) -> View:
    """The account's schedules, with the form for another one."""
    form = form or Form()
    listing = Listing.of(request, PATH, ids.SCHEDULE)
    page_rows, more = await schedules.page(ctx, viewer.account_id, listing.before, _PAGE)
    keys, now = await accounts.keys_of(ctx, viewer.account_id), ctx.clock.now()
    model = {
        **listing.model(page_rows[-1].id if more else None),
        "lines": [Line.of(schedule) for schedule in page_rows],
        "names": {key.id: key.name for key in keys},
        "senders": [(key.id, key.name) for key in keys if schedules.may_send(key, now)],
        "missed": _MISSED,
        "new": form,
        "api": ctx.settings.public_url,
        "most": ctx.settings.schedules_max,
        "may_make": viewer.may("schedules"),
    }
    live: dict[str, str] | None = None if listing.before or form.values else {}
    return PageView("schedules/schedules.html", "Schedules", model, form.status, live)


async def create(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A new schedule; what is wrong stands beside its field."""
    form = await forms.read(ctx, request)
    zone = form.text("timezone") or "UTC"
    if not form.text("cron") and not form.text("at"):
        form.wrong("cron", "Enter when it repeats, or a single time below.")
    at = _at(form, zone)
    message = {"message": form.text("message")}
    if form.text("conversation"):
        message["conversation"] = form.text("conversation")
    missed = Missed.RUN_ONCE if form.text("missed") == Missed.RUN_ONCE else Missed.SKIP
    if not form.errors:
        cron, key, now = form.text("cron") or None, form.text("key"), ctx.clock.now()
        try:
            new = schedules.validate_schedule(cron, at, zone, missed, message, now)
            audited.state(request, key=key, cron=cron, at=form.text("at") or None, timezone=zone)
            schedule = await schedules.create_for_key(ctx, viewer.account_id, key, new)
        except InvalidRequest as refused:
            for problem in refused.problems:
                form.refuse(problem.field or "cron", problem.problem)
        except Refusal as refused:
            of_text = refused.code in (ErrorCode.EMPTY_MESSAGE, ErrorCode.TOO_LONG)
            form.wrong("message" if of_text else "key", refused.message)
        else:
            return Redirect(f"{PATH}/{schedule.id}", note="made")
    return await show(ctx, request, viewer, form)


def _at(form: Form, zone: str) -> int | None:
    """The single time that a form names, in microseconds."""
    text = form.text("at")
    if not text or not recurrence.is_timezone(zone):
        return None
    try:
        time = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))
        return round(time.timestamp()) * SECOND
    except (ValueError, OverflowError):
        form.wrong("at", "Enter a time such as 2030-01-31T09:00.")
        return None


async def show_one(ctx: AppContext, _: Request, viewer: Viewer, schedule_id: str) -> View:
    """A schedule with its newest runs; raises ``not_found``."""
    schedule = await schedules.get(ctx, viewer.account_id, schedule_id)
    keys = {key.id: key.name for key in await accounts.keys_of(ctx, viewer.account_id)}
    message = json.loads(schedule.message_json)
    model = {
        "line": Line.of(schedule),
        "one": schedule,
        "key": keys.get(schedule.key_id, "deleted key"),
        "message": json.dumps(message, indent=2, ensure_ascii=False),
        "runs": await schedules.newest_runs(ctx, schedule),
        "path": f"{PATH}/{schedule_id}",
    }
    return PageView("schedules/schedule.html", "Schedule", model)


async def pause(ctx: AppContext, request: Request, viewer: Viewer, schedule_id: str) -> View:
    """Pause it, or let it run again; raises ``not_found``."""
    paused = (await forms.read(ctx, request)).text("to") == "paused"
    audited.state(request, to="paused" if paused else "active")
    await schedules.pause(ctx, viewer.account_id, schedule_id, paused)
    return Redirect(f"{PATH}/{schedule_id}", note="paused" if paused else "resumed")


async def delete(ctx: AppContext, _: Request, viewer: Viewer, schedule_id: str) -> View:
    """Delete it; raises ``not_found``."""
    await schedules.delete(ctx, viewer.account_id, schedule_id)
    return Redirect(PATH, note="deleted")


PAGES = (
    Page(
        PATH,
        get=show,
        post=create,
        action="schedules create",
        nav=Nav("Dashboard", "Schedules", "calendar"),
        live=True,
        every=5,
        right=Right.READ,
        post_right=Right.SCHEDULES,
        notes={"deleted": "Schedule deleted. Messages it sent are kept."},
    ),
    Page(
        f"{PATH}/{{schedule_id}}",
        get=show_one,
        live=True,
        every=5,
        right=Right.READ,
        notes={
            "made": "Schedule created.",
            "paused": "Schedule paused. It sends no messages until you resume it.",
            "resumed": "Schedule resumed.",
        },
    ),
    Page(
        f"{PATH}/{{schedule_id}}/pause", post=pause, right=Right.SCHEDULES, action="schedules pause"
    ),
    Page(
        f"{PATH}/{{schedule_id}}/delete",
        post=delete,
        right=Right.SCHEDULES,
        action="schedules delete",
    ),
)
