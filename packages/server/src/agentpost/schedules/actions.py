"""Messages at given times: making schedules, and running what is due (design: Schedules).

A run is an ordinary message of the key that made the schedule. Its idempotency key is made of the
schedule and the planned time, so there is one message for it however many nodes send it, and
however often a crash repeats it.

``whose`` is the id of a key, which has its own schedules, or of an account, whose people look after
those of all its keys.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from agentpost.accounts import rows as account_rows
from agentpost.accounts.actions import is_live
from agentpost.accounts.scope_rules import Scope, of_stored
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids, limits
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal, not_found
from agentpost.domain.limits import SCHEDULE_YEARS_AHEAD_MAX
from agentpost.domain.times import seconds
from agentpost.limits.allowances import rules_of
from agentpost.messages import rows as message_rows, sending
from agentpost.messages.body_shapes import too_long
from agentpost.messages.new_messages import check, check_conversation, from_fields
from agentpost.messages.rules import WhenBusy
from agentpost.record.records import KeyRecord, MessageSummary
from agentpost.schedules import recurrence, rows as schedule_rows
from agentpost.schedules.rules import (
    AHEAD_MAX,
    LATE_MAX,
    Missed,
    RunOutcome,
    ScheduleRecord,
    ScheduleStatus,
    run_key,
)
from agentpost.tasks.sweeps import sweep
from agentpost.transactions import read_transaction, write_transaction

_RUNS_SHOWN = 20
_TEXT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """A schedule as the door understood it: ``cron`` or ``at`` (microseconds), not both.
    ``message``: the fields of the message by their public names, checked."""

    cron: str | None
    at: int | None
    timezone: str
    missed: Missed
    message: dict[str, Any]


def validate_schedule(
    cron: str | None,
    at: int | None,
    timezone: str,
    missed: Missed,
    message: dict[str, Any],
    now: int,
) -> NewSchedule:
    """The schedule that somebody asks for; times are in microseconds, ``message`` has the public
    fields. Raises `InvalidRequest` that names the field, and `Refusal` as a message does."""
    if (cron is None) == (at is None):
        raise InvalidRequest(Problem("cron", "give either cron or at"))
    if not recurrence.is_timezone(timezone):
        problem = "must be the name of an IANA time zone, such as Europe/Berlin"
        raise InvalidRequest(Problem("timezone", problem))
    if cron is not None:
        try:
            recurrence.check(cron, timezone, now)
        except ValueError as error:
            raise InvalidRequest(Problem("cron", str(error))) from None
    if at is not None and at <= now:
        raise InvalidRequest(Problem("at", "must be later than now"))
    if at is not None and at - now > AHEAD_MAX:
        problem = f"must be at most {SCHEDULE_YEARS_AHEAD_MAX} years from now"
        raise InvalidRequest(Problem("at", problem))
    text = message["message"].strip()
    if not text:
        raise Refusal(ErrorCode.EMPTY_MESSAGE, "Give the message of the schedule a text.")
    if len(text) > limits.MESSAGE_CHARACTERS_MAX:
        raise too_long()
    return NewSchedule(cron, at, timezone, missed, {**message, "message": text})


@write_transaction
def create(tx: Tx, ctx: AppContext, caller: Caller, new: NewSchedule) -> ScheduleRecord:
    """A new schedule of the key. Raises ``bad_request`` when the account has too many, and
    ``not_found`` for a webhook endpoint of its message that is not the account's, and what
    `check_conversation` raises.

    Those that nobody needs go now: ended long ago, or of an ended key, which nobody could delete.
    """
    account_rows.lock(tx, caller.account_id)  # two calls must not both see the last free place
    now, most = ctx.clock.now(), ctx.settings.schedules_max
    schedule_rows.clear(
        tx, caller.account_id, now, now - seconds(ctx.settings.message_retention_seconds)
    )
    if schedule_rows.count(tx, caller.account_id) >= most:
        text = f"An account has at most {most} schedules; delete one that is not needed."
        raise Refusal(ErrorCode.BAD_REQUEST, text)
    check_conversation(caller, from_fields(new.message))
    sending.check_endpoint(tx, caller, new.message.get("webhook_endpoint_id"))
    schedule = ScheduleRecord(
        id=new_id(ids.SCHEDULE, now),
        account_id=caller.account_id,
        key_id=caller.key_id,
        cron=new.cron,
        timezone=new.timezone,
        missed=new.missed,
        message_json=json.dumps(new.message),
        created_at=now,
        next_at=recurrence.next_after(new.cron, new.timezone, now) if new.cron else new.at,
    )
    schedule_rows.SCHEDULES.insert(tx, schedule)
    return schedule


@read_transaction
def page(
    tx: Tx, ctx: AppContext, whose: str, before: str | None, limit: int
) -> tuple[list[ScheduleRecord], bool]:
    """The schedules, newest first, and whether there are more."""
    read = schedule_rows.list_ if whose.startswith(ids.KEY) else schedule_rows.of_account
    records = read(tx, whose, before or ids.last(ids.SCHEDULE), limit + 1)
    return records[:limit], len(records) > limit


async def create_for_key(
    ctx: AppContext, account_id: str, key_id: str, new: NewSchedule
) -> ScheduleRecord:
    """A new schedule of a key of the account, for its people. Raises `Refusal`: ``bad_request`` for
    a key that may not send messages, and what `new_messages.check` and `create` raise."""
    check(from_fields(new.message))
    caller = await ctx.db.read(lambda tx: _sender(tx, ctx, account_id, key_id))
    if caller is None:
        raise Refusal(ErrorCode.BAD_REQUEST, "Choose a key that works and can send messages.")
    return await create(ctx, caller, new)


@read_transaction
def get(tx: Tx, ctx: AppContext, whose: str, schedule_id: str) -> ScheduleRecord:
    """A schedule; raises ``not_found``."""
    return _find(tx, whose, schedule_id)


@read_transaction
def newest_runs(
    tx: Tx, ctx: AppContext, schedule: ScheduleRecord
) -> list[tuple[int, MessageSummary]]:
    """The newest runs, newest first: planned time (microseconds) and message, as long as its
    idempotency key is kept."""
    last = schedule.last_planned_at
    if last is None:
        return []
    times = [last]
    if schedule.cron is not None:
        times += recurrence.newest_times(schedule.cron, schedule.timezone, last, _RUNS_SHOWN)
    by_key = {run_key(schedule.id, planned): planned for planned in times}
    messages = message_rows.of_idempotency_keys(
        tx, schedule.key_id, list(by_key), ctx.clock.now(), _TEXT_CHARACTERS
    )
    runs = [(by_key[key], message) for key, message in messages]
    return sorted(runs, key=itemgetter(0), reverse=True)


@write_transaction
def pause(tx: Tx, ctx: AppContext, whose: str, schedule_id: str, paused: bool) -> ScheduleRecord:
    """Pause it, or let it go on with its next time; one that has ended stays as it is. Times of
    ``cron`` that pass meanwhile are not missed runs; a single time stays. Raises ``not_found``."""
    schedule, now = _find(tx, whose, schedule_id, schedule_rows.lock), ctx.clock.now()
    if paused and schedule.status is ScheduleStatus.ACTIVE:
        schedule.status = ScheduleStatus.PAUSED
        if schedule.cron is not None:
            schedule.next_at = None
    elif not paused and schedule.status is ScheduleStatus.PAUSED:
        schedule.status = ScheduleStatus.ACTIVE
        if schedule.cron is not None:
            _plan(schedule, now)
    schedule_rows.update(tx, schedule)
    return schedule


@write_transaction
def delete(tx: Tx, ctx: AppContext, whose: str, schedule_id: str) -> None:
    """Delete it; the messages it sent stay. Raises ``not_found``."""
    schedule_rows.delete(tx, _find(tx, whose, schedule_id, schedule_rows.lock).id)


def _find(
    tx: Tx,
    whose: str,
    schedule_id: str,
    read: Callable[[Tx, str], ScheduleRecord | None] = schedule_rows.get,
) -> ScheduleRecord:
    """A schedule of the key or account; raises ``not_found``."""
    schedule = read(tx, schedule_id) if ids.is_id(ids.SCHEDULE, schedule_id) else None
    if schedule is None or whose not in (schedule.key_id, schedule.account_id):
        raise not_found("schedule")
    return schedule


# --- running --------------------------------------------------------------------------------------
async def run_due(ctx: AppContext) -> None:
    """Send what is due."""
    if ctx.turns is None or ctx.unavailable:
        return  # a node that takes no messages; nobody sends while the API is switched off
    await sweep(ctx, "run_schedules", schedule_rows.due, partial(_run, ctx))


@dataclass(frozen=True, slots=True)
class _Due:
    """A run to be made: None of ``caller``: the key has ended; ``send``: not missed."""

    schedule: ScheduleRecord
    planned: int
    missed: int
    send: bool
    caller: Caller | None


async def _run(ctx: AppContext, schedule_id: str) -> None:
    now = ctx.clock.now()
    due = await ctx.db.read(lambda tx: _look(tx, ctx, schedule_id, now))
    if due is None:
        return
    outcome, message_id, error = RunOutcome.MISSED, None, None
    if due.caller is None:
        outcome, error = RunOutcome.REFUSED, "The key of the schedule has ended."
    elif due.send:
        try:
            message_id = await _send(ctx, due.caller, due.schedule, due.planned)
            outcome = RunOutcome.SENT
        except Refusal as refusal:
            outcome, error = RunOutcome.REFUSED, f"{refusal.code}: {refusal.message}"

    def advance(tx: Tx) -> None:
        schedule = schedule_rows.lock(tx, schedule_id)
        if schedule is None or schedule.next_at != due.schedule.next_at:
            return  # another node was faster
        schedule.missed_runs += due.missed
        schedule.last_planned_at, schedule.last_at = due.planned, ctx.clock.now()
        schedule.last_outcome, schedule.last_error = outcome, error
        schedule.last_message_id = message_id or _message_of_run(tx, schedule, due.planned)
        if schedule.last_message_id is not None:  # maybe by another node, while this was refused
            schedule.last_outcome, schedule.last_error = RunOutcome.SENT, None
        if due.caller is None:
            schedule.status, schedule.next_at = ScheduleStatus.ENDED, None
        else:
            _plan(schedule, max(now, due.planned))
        schedule_rows.update(tx, schedule)

    await ctx.db.write(advance)


def _look(tx: Tx, ctx: AppContext, schedule_id: str, now: int) -> _Due | None:
    schedule = schedule_rows.get(tx, schedule_id)
    if schedule is None or schedule.status is not ScheduleStatus.ACTIVE:
        return None
    if schedule.next_at is None or schedule.next_at > now:
        return None
    planned = schedule.next_at
    send, missed_runs = True, 0
    if now - planned > LATE_MAX and _message_of_run(tx, schedule, planned) is None:
        count = 1
        if schedule.cron is not None:
            planned, count = recurrence.last_before(schedule.cron, schedule.timezone, planned, now)
        late = now - planned > LATE_MAX
        send = (
            not late
            or schedule.missed is Missed.RUN_ONCE
            or _message_of_run(tx, schedule, planned) is not None
        )
        missed_runs = count - 1 if send else count
    caller = _sender(tx, ctx, schedule.account_id, schedule.key_id)
    return _Due(schedule, planned, missed_runs, send, caller)


def _message_of_run(tx: Tx, schedule: ScheduleRecord, planned: int) -> str | None:
    """The message of this run, when any server has sent it and may not have said so yet."""
    key = run_key(schedule.id, planned)
    message = message_rows.of_idempotency_key(tx, schedule.key_id, key)
    return None if message is None else message.id


def may_send(key: KeyRecord, now: int) -> bool:
    """Whether the key may send messages."""
    return is_live(key, now) and Scope.SEND in of_stored(key.scopes)


def _sender(tx: Tx, ctx: AppContext, account_id: str, key_id: str) -> Caller | None:
    """The key of the account as the caller of scheduled messages; None when it may send none."""
    key = account_rows.key_by_id(tx, key_id)
    if key is None or key.account_id != account_id or not may_send(key, ctx.clock.now()):
        return None
    account = account_rows.get(tx, account_id)
    if account.disabled_at is not None:
        return None
    rules = rules_of(ctx.settings, account.limits_json)
    return Caller(key.id, key.name, key.account_id, rules)


async def _send(ctx: AppContext, caller: Caller, schedule: ScheduleRecord, planned: int) -> str:
    """Accept the message of a run, or find it; its id. Raises `Refusal`."""
    fields = {"busy": WhenBusy.QUEUE, **json.loads(schedule.message_json)}
    key = run_key(schedule.id, planned)
    new = from_fields(fields, idempotency_key=key, held=False, scheduled=True)
    return (await sending.post(ctx, caller, new)).id


# --- parts ----------------------------------------------------------------------------------------
def _plan(schedule: ScheduleRecord, after: int) -> None:
    """Set the next time later than that; without one the schedule has ended."""
    schedule.next_at = None
    if schedule.cron is not None:
        schedule.next_at = recurrence.next_after(schedule.cron, schedule.timezone, after)
    ended = schedule.next_at is None
    schedule.status = ScheduleStatus.ENDED if ended else ScheduleStatus.ACTIVE
