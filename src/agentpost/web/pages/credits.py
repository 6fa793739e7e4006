"""Credits: what there is, what was used by day and by key, and the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request

from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.times import SECOND
from agentpost.services import usage
from agentpost.services.context import AppContext
from agentpost.services.usage import Used
from agentpost.web.page import Nav, Page, Shown, View, Viewer

_PATH: Final = "/dashboard/credits"
_HEIGHT: Final = 100
"""Of the chart's tallest bar, in units of its drawing; a day takes ten units across."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of the chart."""

    x: int
    y: float
    height: float
    day: str
    used: Used


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """The credits of the account; the first page of the ledger comes with the usage."""
    before, holds = request.query_params.get("before", ""), "all" in request.query_params
    found = await usage.statement(
        ctx,
        viewer.account_id,
        before=before if ids.is_id(ids.LEDGER, before) else None,
        holds=holds,
    )
    kept = {"all": ""} if holds else {}
    wallet = found.wallet
    model = {
        "available": to_credits(wallet.available),
        "held": to_credits(wallet.held),
        "balance": to_credits(wallet.balance),
        "lines": found.lines,
        "usage": found.usage,
        "bars": bars(found.usage.days) if found.usage else [],
        "days": usage.DAYS,
        "holds": holds,
        "email": viewer.email,
        "older": _address({**kept, "before": found.more}) if found.more else None,
        "newer": _address(kept) if before else None,
    }
    return Shown("pages/credits.html", "Credits", model)


def bars(days: Sequence[Used]) -> list[Bar]:
    """The chart, as tall as its greatest day; a day with little is still a line."""
    most = max((day.credits for day in days), default=0)
    found = []
    for n, used in enumerate(days):
        height = max(round(used.credits / most * _HEIGHT, 2), 1.5) if used.credits else 0.0
        day = datetime.fromtimestamp(used.at // SECOND, UTC).strftime("%Y-%m-%d")
        found.append(Bar(n * 10 + 1, _HEIGHT - height, height, day, used))
    return found


def _address(query: dict[str, str]) -> str:
    return f"{_PATH}?{urlencode(query)}" if query else _PATH


PAGES = (Page(_PATH, get=show, nav=Nav("Dashboard", "Credits", "coins")),)
