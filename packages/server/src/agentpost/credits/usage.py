"""What an account has used: its ledger for people, and credits and messages by day and key."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.credits import usage_rows
from agentpost.credits.rules import APP, DELETED, SIGNS, LedgerKind, UsageGroup, Wallet
from agentpost.credits.usage_rows import Sums
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


@dataclass(slots=True)
class Used(Sums):
    """What was used on a day, by a key or in a conversation.

    Attributes:
        name: the key's, or the conversation's id; "" for a day.
        title: the first line of a conversation's first message, while it is kept; else "".
        conversation: the name that the product gave a conversation; "" without one.
        at: when the day began, in microseconds; 0 for a key.
        key_id: None for a day, for the chat and for what is gone.
    """

    name: str = ""
    title: str = ""
    conversation: str = ""
    at: int = 0
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """The last days: each day, the oldest first; each key that used something, the one that
    used most first; and the `CONVERSATIONS` conversations that used most."""

    days: list[Used]
    keys: list[Used]
    conversations: list[Used]
    total: Used = field(default_factory=Used)


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
    usage = None if before or not with_sums else used(tx, account_id, ctx.clock.now())
    return Statement(account_rows.get(tx, account_id).wallet, page_lines, more, usage)


def used(tx: Tx, account_id: str, now: int, count: int = DAYS) -> Usage:
    """What was used on the last ``count`` days, and by which keys."""
    first = now // DAY - count + 1
    bounds = (first * DAY, (first + count) * DAY)
    days = {day: Used(at=day * DAY) for day in range(first, first + count)}
    for day, sums in usage_rows.sums(tx, account_id, UsageGroup.DAY, *bounds).items():
        if day in days:  # else another node's clock is ahead
            days[day].add(sums)
    names = account_rows.key_names(tx, account_id)
    keys: dict[str | None, Used] = {}
    for key_id, sums in usage_rows.sums(tx, account_id, UsageGroup.KEY, *bounds).items():
        known_id = key_id if key_id in names else None
        is_chat = key_id == account_id
        name = names.get(key_id, _CHAT if is_chat else _GONE)
        keys.setdefault(key_id if is_chat else known_id, Used(name=name, key_id=known_id)).add(sums)
    total = Used()
    for each in days.values():
        total.add(each)
    key_lines = sorted(keys.values(), key=lambda each: (-each.credits, -each.messages, each.name))
    return Usage(list(days.values()), key_lines, _by_conversation(tx, account_id, *bounds), total)


def _by_conversation(tx: Tx, account_id: str, since: int, until: int) -> list[Used]:
    by_id = usage_rows.sums(tx, account_id, UsageGroup.CONVERSATION, since, until)
    charges = [(id_, sums) for id_, sums in by_id.items() if id_ and sums.charges]
    charges = sorted(charges, key=lambda each: (-each[1].millionths, each[0]))[:CONVERSATIONS]
    names = conversation_rows.names(tx, [conversation_id for conversation_id, _ in charges])
    lines = []
    for conversation_id, sums in charges:
        first = conversation_titles.first(tx, conversation_id)
        owner, name = names.get(conversation_id, (account_id, ""))
        line = Used(name=conversation_id, conversation="" if owner == account_id else name)
        line.title = conversation_titles.of(first) if first else ""
        line.millionths, line.charges = sums.millionths, sums.charges
        lines.append(line)
    return lines


@dataclass(slots=True)
class UsageLine(Sums):
    """What was used on a day, with a key or in a conversation."""

    id: str = ""
    name: str | None = None


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
    account_id = caller.account_id
    lines = []
    for value, sums in usage_rows.sums(tx, account_id, group, since, until, with_jobs=True).items():
        line = UsageLine(id=_id(account_id, group, value))
        line.add(sums)
        lines.append(line)
    lines.sort(key=attrgetter("id"), reverse=True)
    fitting = [line for line in lines if before is None or line.id < before]
    page = fitting[:limit]
    _name(tx, caller, group, page)
    return page, len(fitting) > limit


def _id(account_id: str, group: UsageGroup, value: int | str | None) -> str:
    if value is None:
        return DELETED
    if group is UsageGroup.DAY:
        return iso(int(value) * DAY)[:10]
    return APP if value == account_id else str(value)


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
