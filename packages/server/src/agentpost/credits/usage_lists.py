"""An account's usage for programs, summed by day, key or conversation (design: Usage)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentpost.accounts import rows as account_rows
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.credits import usage_rows
from agentpost.credits.usage_rules import APP, DELETED, UsageGroup
from agentpost.db.session import Tx
from agentpost.domain.times import DAY, iso
from agentpost.transactions import read_transaction
from agentpost.turns import conversation_rows


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
    for value, amount in usage_rows.charges(tx, account_id, group, since, until):
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
