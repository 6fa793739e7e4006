"""A message as it changes, for calls that show it in another protocol than ours.

Any number of callers may follow one message, each from its own place in the log.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.limits import EVENTS_PAGE_ENTRIES
from agentpost.domain.times import SECOND
from agentpost.following.held_calls import HungUp
from agentpost.jobs import rows as job_rows
from agentpost.jobs.rules import Reason
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import TurnFailure
from agentpost.record.records import EntryRecord, MessageRecord, Snapshot
from agentpost.transactions import read_transaction
from agentpost.wakeups.base import Wait

BEAT_SECONDS = 15.0
"""How often a message that does not change is given out again, so that its reader knows that the
connection lives."""
_PAUSE_SECONDS = 0.1
"""Between two looks at the least: what changes faster is shown together."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A message and the entries that are new since the last moment, all of one transaction."""

    snapshot: Snapshot
    entries: list[EntryRecord]
    cancelled: bool
    """See `was_cancelled`."""
    texts: Sequence[str] = ()
    """Text that is being written, as JSON that `runtime.deltas` makes. A moment that has some has
    nothing else that is new."""

    @property
    def conversation(self) -> str:
        """The conversation's name, "" for the one of messages without a name."""
        return self.snapshot.message.conversation or ""

    @property
    def waits_for_credits(self) -> bool:
        """Whether only credits can move it on."""
        message = self.snapshot.message
        return message.status == "blocked" and not message.final


def was_cancelled(tx: Tx, message: MessageRecord) -> bool:
    """Whether somebody stopped the turn. The log tells it, as its last word: to the message it is a
    turn that failed."""
    if message.reason is not Reason.TURN_FAILED:
        return False
    last = message_rows.entries_after(tx, message.id, message.seq - 1, 1)
    return any(json.loads(each.body_json).get("reason") == TurnFailure.STOPPED for each in last)


@read_transaction
def look(tx: Tx, ctx: AppContext, caller: Caller, message_id: str, after: int = 0) -> Moment:
    """The message of that key as it is, with up to a page of the entries after number ``after``;
    raises ``not_found``."""
    message = message_rows.of_key(tx, message_id, caller.key_id, ctx.clock.now())
    entries = message_rows.entries_after(tx, message_id, after, EVENTS_PAGE_ENTRIES)
    cancelled = was_cancelled(tx, message)
    return Moment(message_rows.snapshot(tx, message), entries, cancelled)


async def look_at_maker(ctx: AppContext, caller: Caller, source: tuple[str, str]) -> Moment:
    """The message of that key which has that id, or the one that started the job with that id.
    ``source``: the message and the job, one of which there is. Raises ``not_found``."""
    message_id, job_id = source

    def fn(tx: Tx) -> str:
        job = job_rows.get(tx, job_id)
        return message_id if job is None else job.message_id

    return await look(ctx, caller, await ctx.db.read(fn))


def nobody_hangs_up(_: Wait) -> None:
    """For a response that is being sent: it ends with its client, and what it waits for with it."""


async def follow(
    ctx: AppContext,
    caller: Caller,
    message_id: str,
    after: int = 0,
    hung_up: HungUp = nobody_hangs_up,
    *,
    texts: bool = False,
    place: Wait | None = None,
    until: int | None = None,
) -> AsyncGenerator[Moment, None]:
    """The message at once, then after each change, and every `BEAT_SECONDS` without one.

    With ``texts`` there are moments in between that have the texts shown meanwhile; ``place`` is
    where the caller listens to them already, since before it sent the message.

    It ends with the moment in which the message is final and the log is read to its end, and when
    the server stops or the client hangs up; and with the message as it is at ``until``, which is in
    microseconds of `Clock.passed`. Use `contextlib.aclosing`: the place in the list of
    held calls is left then.

    Raises ``not_found``, and `KeyEnded` when the key ends meanwhile.
    """
    moment: Moment | None = None
    is_due, is_last = True, False
    with ctx.held_calls.hold(
        caller.holds, message_id, hung_up, texts=texts, place=place, stays=True
    ) as wait:
        while True:
            if moment is not None and (texts_now := wait.texts()):  # before what is read after it
                yield replace(moment, entries=[], texts=texts_now)
            if is_due:
                async with ctx.streams.reading(caller.account_id):
                    moment = await look(ctx, caller, message_id, after)
                yield moment
                if len(moment.entries) == EVENTS_PAGE_ENTRIES:
                    after = moment.entries[-1].seq
                    continue
                if moment.snapshot.message.final or wait.over or is_last:
                    return
                if moment.entries:
                    after = moment.entries[-1].seq
                await asyncio.sleep(_PAUSE_SECONDS)
            left = BEAT_SECONDS if until is None else (until - ctx.clock.passed()) / SECOND
            is_hinted = await wait.wait(min(left, BEAT_SECONDS))
            is_last = until is not None and until <= ctx.clock.passed()
            is_due = is_hinted or is_last or not wait.has_texts
