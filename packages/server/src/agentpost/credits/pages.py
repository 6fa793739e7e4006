"""Credits: what there is, what was used by day and by key, and the ledger."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Final

from starlette.requests import Request

from agentpost.accounts import authors
from agentpost.context import AppContext
from agentpost.credits import usage
from agentpost.credits.rules import UsageLine
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.times import iso
from agentpost.users.role_rules import Right
from agentpost.web import chart, csv_file
from agentpost.web.environment import exact
from agentpost.web.listing import Listing
from agentpost.web.page import Nav, Page, PageView, View, Viewer

_PATH: Final = "/dashboard/credits"
_FILE_LINES: Final = 1_000
"""So many are read at a time for a file."""


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """The credits of the account; the first page of the ledger comes with the usage."""
    holds = "all" in request.query_params
    filters = {"all": ""} if holds else {}
    listing = replace(Listing.of(request, _PATH, ids.LEDGER), filters=filters)
    statement = await usage.statement(ctx, viewer.account_id, before=listing.before, holds=holds)
    wallet = statement.wallet
    model = {
        **listing.model(statement.more),
        "available": to_credits(wallet.available),
        "held": to_credits(wallet.held),
        "balance": to_credits(wallet.balance),
        "lines": statement.lines,
        "authors": await authors.of_account(ctx, viewer.account_id),
        "usage": statement.usage,
        "bars": chart.bars(statement.usage.days, lambda used: used.credits)
        if statement.usage
        else [],
        "days": usage.DAYS,
        "holds": holds,
        "email": viewer.account_email,
    }
    return PageView("credits/credits.html", "Credits", model)


async def ledger_file(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """Every line of the ledger, holds included, newest first."""

    async def rows() -> AsyncIterator[Sequence[Sequence[object]]]:
        before = None
        while True:
            statement = await usage.statement(
                ctx,
                viewer.account_id,
                before=before,
                holds=True,
                with_sums=False,
                limit=_FILE_LINES,
            )
            yield [_ledger_row(line) for line in statement.lines]
            before = statement.more
            if before is None:
                return

    columns = ("at", "id", "kind", "credits", "held", "title", "note", "job_id", "message_id")
    return csv_file.response("agentpost-ledger.csv", columns, rows())


async def usage_file(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """What was used by day, by key and in the conversations that used most."""
    statement = await usage.statement(ctx, viewer.account_id)
    assert statement.usage is not None
    groups = {
        "day": statement.usage.days,
        "key": statement.usage.keys,
        "conversation": statement.usage.conversations,
    }

    async def rows() -> AsyncIterator[Sequence[Sequence[object]]]:
        for group, lines in groups.items():
            yield [_usage_row(group, used) for used in lines]

    columns = ("by", "name", "key_id", "credits", "charges", "messages")
    return csv_file.response("agentpost-usage.csv", columns, rows())


def _ledger_row(line: usage.Line) -> Sequence[object]:
    record = line.record
    return (
        iso(record.at),
        record.id,
        record.kind,
        exact(line.credits).replace(",", ""),
        exact(line.held).replace(",", ""),
        line.title,
        record.note,
        record.job_id,
        line.message_id,
    )


def _usage_row(group: str, line: UsageLine) -> Sequence[object]:
    name, messages = line.name or line.id, None if group == "conversation" else line.messages
    return group, name, line.key_id, exact(line.credits).replace(",", ""), line.charges, messages


PAGES = (
    Page(_PATH, get=show, nav=Nav("Dashboard", "Credits", "coins"), right=Right.READ),
    Page(f"{_PATH}/ledger.csv", get=ledger_file, right=Right.READ),
    Page(f"{_PATH}/usage.csv", get=usage_file, right=Right.READ),
)
