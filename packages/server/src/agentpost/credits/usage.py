"""What an account has used: its ledger for people, and credits and messages by day and key."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.credits import usage_rows
from agentpost.credits.rules import APP, DELETED, LedgerKind, UsageGroup, Wallet
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.times import DAY, iso
from agentpost.record import conversation_titles
from agentpost.record.records import LedgerRecord
from agentpost.transactions import read_transaction
from agentpost.turns import conversation_rows, conversation_rows as conversations

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
        sign = {LedgerKind.GRANT: 1, LedgerKind.CHARGE: -1}.get(LedgerKind(self.record.kind), 0)
        return to_credits(sign * self.record.amount)

    @property
    def held(self) -> float:
        """What it adds to what is held, below zero for what is given back."""
        sign = {LedgerKind.HOLD: 1, LedgerKind.RELEASE: -1}.get(LedgerKind(self.record.kind), 0)
        return to_credits(sign * self.record.amount)


@dataclass(slots=True)
class Used:
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
    credits: float = 0
    charges: int = 0
    messages: int = 0


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
    names = {key.id: key.name for key in account_rows.keys(tx, account_id)}
    keys: dict[str | None, Used] = {}

    def of_day(day: int) -> Used:
        return days.get(day) or Used()  # none of them: another node's clock is ahead

    def of_key(key_id: str | None) -> Used:
        known_id = key_id if key_id in names else None
        group = key_id if key_id == account_id else known_id
        if group not in keys:
            name = names.get(group or "", _CHAT if group else _GONE)
            keys[group] = Used(name, key_id=known_id)
        return keys[group]

    for sums, of in ((UsageGroup.DAY, of_day), (UsageGroup.KEY, of_key)):
        for value, message_count in usage_rows.messages(tx, account_id, sums, *bounds):
            of(value).messages += message_count
        for value, amount, charge_count in usage_rows.charges(tx, account_id, sums, *bounds):
            one = of(value)
            one.credits += to_credits(amount)
            one.charges += charge_count
    total = Used(
        credits=sum(each.credits for each in days.values()),
        charges=sum(each.charges for each in days.values()),
        messages=sum(each.messages for each in days.values()),
    )
    key_lines = sorted(keys.values(), key=lambda each: (-each.credits, -each.messages, each.name))
    return Usage(list(days.values()), key_lines, _by_conversation(tx, account_id, *bounds), total)


def _by_conversation(tx: Tx, account_id: str, since: int, until: int) -> list[Used]:
    group = UsageGroup.CONVERSATION
    charges = [each for each in usage_rows.charges(tx, account_id, group, since, until) if each[0]]
    charges = sorted(charges, key=lambda each: (-each[1], each[0]))[:CONVERSATIONS]
    names = conversations.names(tx, [conversation_id for conversation_id, *_ in charges])
    lines = []
    for conversation_id, amount, charge_count in charges:
        first = conversation_titles.first(tx, conversation_id)
        owner, name = names.get(conversation_id, (account_id, ""))
        lines.append(
            Used(
                conversation_id,
                conversation_titles.of(first) if first else "",
                "" if owner == account_id else name,
                credits=to_credits(amount),
                charges=charge_count,
            )
        )
    return lines


@dataclass(slots=True)
class UsageLine:
    """What was used on a day, with a key or in a conversation; credits in millionths."""

    id: str
    name: str | None = None
    messages: int = 0
    jobs: int = 0
    credits: int = 0


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
    line_by_name: dict[str, UsageLine] = {}

    def line(value: int | str | None) -> UsageLine:
        known_as = _id(account_id, group, value)
        return line_by_name.setdefault(known_as, UsageLine(known_as))

    for value, count in usage_rows.messages(tx, account_id, group, since, until):
        line(value).messages += count
    for value, count in usage_rows.jobs(tx, account_id, group, since, until):
        line(value).jobs += count
    for value, amount, _ in usage_rows.charges(tx, account_id, group, since, until):
        line(value).credits += amount
    fitting = sorted(
        (one for one in line_by_name.values() if before is None or one.id < before),
        key=lambda one: one.id,
        reverse=True,
    )
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
        keys = {key.id: key.name for key in account_rows.keys(tx, caller.account_id)}
        for line in page:
            line.name = keys.get(line.id)
    elif group is UsageGroup.CONVERSATION:
        names = conversation_rows.names(tx, [line.id for line in page])
        for line in page:
            owner, name = names.get(line.id, ("", ""))
            if owner == caller.key_id or caller.reads_all:
                line.name = name or None
