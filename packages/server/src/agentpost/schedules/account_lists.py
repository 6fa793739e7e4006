"""The schedules of an account, of whichever key: for the people who look after it.

The API shows a key its own schedules (`schedules.actions`); in the web app somebody pauses or
deletes those of every key, and makes one for any of them.
"""

from dataclasses import dataclass
from operator import itemgetter

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.messages import rows as message_rows
from agentpost.messages.new_messages import check, from_fields
from agentpost.record.records import MessageSummary
from agentpost.schedules import actions as schedules, recurrence
from agentpost.schedules.actions import NewSchedule
from agentpost.schedules.rules import ScheduleRecord, run_key
from agentpost.transactions import read_transaction

_RUNS = 20
_TEXT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """A schedule with the messages of its newest runs, as long as their idempotency keys are kept.
    ``runs``: (planned time in microseconds, message)."""

    schedule: ScheduleRecord
    runs: list[tuple[int, MessageSummary]]


@read_transaction
def get(tx: Tx, ctx: AppContext, account_id: str, schedule_id: str) -> ScheduleView:
    """A schedule with its newest runs; raises ``not_found``."""
    schedule = schedules.find(tx, account_id, schedule_id)
    return ScheduleView(schedule, _runs(tx, schedule, ctx.clock.now()))


def _runs(tx: Tx, schedule: ScheduleRecord, now: int) -> list[tuple[int, MessageSummary]]:
    last = schedule.last_planned_at
    if last is None:
        return []
    times = [last]
    if schedule.cron is not None:
        times += recurrence.newest_times(schedule.cron, schedule.timezone, last, _RUNS)
    by_key = {run_key(schedule.id, planned): planned for planned in times}
    pairs = message_rows.of_idempotency_keys(
        tx, schedule.key_id, list(by_key), now, _TEXT_CHARACTERS
    )
    return sorted(
        ((by_key[key], message) for key, message in pairs), key=itemgetter(0), reverse=True
    )


async def create(ctx: AppContext, account_id: str, key_id: str, new: NewSchedule) -> ScheduleRecord:
    """A new schedule of a key of the account. Raises `Refusal`: ``bad_request`` for a key that may
    not send messages, or too many schedules, and what `new_messages.check` and `schedules.create`
    raise."""
    check(from_fields(new.message))
    caller = await ctx.db.read(lambda tx: schedules.sender(tx, ctx, account_id, key_id))
    if caller is None:
        raise Refusal(ErrorCode.BAD_REQUEST, "Choose a key that works and can send messages.")
    return await schedules.create(ctx, caller, new)
