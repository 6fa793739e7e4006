"""What an account has used: its ledger for people, and credits and messages by day and key."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.credits import usage_rows
from agentpost.credits.rules import APP, DELETED, SIGNS, LedgerKind, UsageGroup, UsageLine, Wallet
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.times import DAY, iso
from agentpost.record import conversation_titles
from agentpost.record.records import LedgerRecord
from agentpost.transactions import read_transaction
from agentpost.turns import conversation_rows

DAYS: Final = 30
"""How many days are summed up, today included; they begin at midnight UTC."""
CONVERSATIONS: Final = 20
_LINES: Final = 50
_CHAT: Final = "Web app"
_GONE: Final = "Deleted messages"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the ledger; title, message and work of its job, as far as they are still there;
    the key and the user who caused it."""

    record: LedgerRecord
    title: str | None
    message_id: str | None
    work_id: str | None
    key_id: str | None = None
    user_id: str | None = None

    @property
    def credits(self) -> float:
        """What it adds to the balance, below zero for what it takes; 0 for holds and releases."""
        return to_credits(SIGNS[LedgerKind(self.record.kind)][0] * self.record.amount)

    @property
    def held(self) -> float:
        """What it adds to what is held, below zero for what is given back."""
        return to_credits(SIGNS[LedgerKind(self.record.kind)][1] * self.record.amount)


@dataclass(frozen=True, slots=True)
class Usage:
    """The last days: each day, the oldest first; each key that used something, the one that
    used most first; and the `CONVERSATIONS` conversations that used most."""

    days: list[UsageLine]
    keys: list[UsageLine]
    conversations: list[UsageLine]

    @property
    def total(self) -> UsageLine:
        """What was used on all of these days."""
        return _sum(self.days, "total")


@dataclass(frozen=True, slots=True)
class Statement:
    """An account's credits with a page of its ledger; ``more`` is ``before`` of the next page."""

    wallet: Wallet
    lines: list[Line]
    more: str | None
    usage: Usage | None


@read_transaction
def statement(
    tx: Tx,
    ctx: AppContext,
    account_id: str,
    *,
    before: str | None = None,
    holds: bool = False,
    with_sums: bool = True,
    limit: int = _LINES,
) -> Statement:
    """An account's credits, its usage, and its ledger lines older than ``before``, newest first.

    Args:
        before: the id of a line; only the first page has the usage.
        holds: with the lines that only set credits aside and give them back.
        with_sums: with the usage, which reads every charge of its days.
    """
    bound = before or ids.last(ids.LEDGER)
    page_rows = usage_rows.lines(tx, account_id, before=bound, limit=limit + 1, holds=holds)
    page_lines = [Line(*each) for each in page_rows[:limit]]
    more = page_lines[-1].record.id if len(page_rows) > limit else None
    usage = None if before or not with_sums else _usage(tx, account_id, ctx.clock.now())
    return Statement(account_rows.get(tx, account_id).wallet, page_lines, more, usage)


def _usage(tx: Tx, account_id: str, now: int) -> Usage:
    bounds = ((now // DAY - DAYS + 1) * DAY, (now // DAY + 1) * DAY)
    keys, conversations = _keys(tx, account_id, *bounds), _conversations(tx, account_id, *bounds)
    return Usage(days(tx, account_id, now, DAYS), keys, conversations)


def days(tx: Tx, account_id: str, now: int, count: int) -> list[UsageLine]:
    """What was used on each of the last ``count`` days, the oldest first."""
    times = [(now // DAY - n) * DAY for n in reversed(range(count))]
    by_day = usage_rows.usage(tx, account_id, UsageGroup.DAY, times[0], times[-1] + DAY)
    return [by_day.get(id_, UsageLine(id_)) for id_ in (iso(at)[:10] for at in times)]


def _keys(tx: Tx, account_id: str, since: int, until: int) -> list[UsageLine]:
    """One line for each key, one for the web app, one for keys and messages that are gone."""
    by_id = usage_rows.usage(tx, account_id, UsageGroup.KEY, since, until)
    names = {**account_rows.key_names(tx, account_id), APP: _CHAT}
    lines = [replace(line, name=names[id_]) for id_, line in by_id.items() if id_ in names]
    if gone := [line for id_, line in by_id.items() if id_ not in names]:
        lines.append(_sum(gone, DELETED, _GONE))
    return sorted(lines, key=lambda line: (-line.credits, -line.messages, line.name))


def _conversations(tx: Tx, account_id: str, since: int, until: int) -> list[UsageLine]:
    by_id = usage_rows.usage(tx, account_id, UsageGroup.CONVERSATION, since, until)
    charged = [line for line in by_id.values() if line.charges and line.id != DELETED]
    lines = sorted(charged, key=lambda line: (-line.millionths, line.id))[:CONVERSATIONS]
    names = conversation_rows.names(tx, [line.id for line in lines])
    for line in lines:
        first = conversation_titles.first(tx, line.id)
        line.title = conversation_titles.of(first) if first else ""
        owner, name = names.get(line.id, (account_id, ""))
        line.name = name if name and owner != account_id else None
    return lines


def _sum(lines: Sequence[UsageLine], id_: str, name: str | None = None) -> UsageLine:
    return UsageLine(
        id_,
        messages=sum(line.messages for line in lines),
        millionths=sum(line.millionths for line in lines),
        charges=sum(line.charges for line in lines),
        name=name,
    )


@read_transaction
def list_page(
    tx: Tx,
    ctx: AppContext,
    caller: Caller,
    group: UsageGroup,
    since: int,
    until: int,
    *,
    before: str | None,
    limit: int,
) -> tuple[list[UsageLine], bool]:
    """The account's usage from ``since`` to before ``until``, by id, the greatest first.

    Only ids less than ``before``; the second value says whether there are more. A conversation's
    name is shown to the key that has it, and to one that reads what other keys sent.
    """
    by_id = usage_rows.usage(tx, caller.account_id, group, since, until, with_jobs=True)
    lines = sorted(by_id.values(), key=attrgetter("id"), reverse=True)
    fitting = [line for line in lines if before is None or line.id < before]
    page = fitting[:limit]
    _name(tx, caller, group, page)
    return page, len(fitting) > limit


def _name(tx: Tx, caller: Caller, group: UsageGroup, page: Iterable[UsageLine]) -> None:
    if group is UsageGroup.KEY:
        keys = account_rows.key_names(tx, caller.account_id)
        for line in page:
            line.name = keys.get(line.id)
    elif group is UsageGroup.CONVERSATION:
        names = conversation_rows.names(tx, [line.id for line in page])
        for line in page:
            owner, name = names.get(line.id, ("", ""))
            if owner == caller.key_id or caller.reads_all:
                line.name = name or None
