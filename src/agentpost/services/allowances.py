"""The limits of an account: the settings, unless an operator set other values for it (spec:
Limits)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from agentpost.db import accounts as rows
from agentpost.db.session import Tx
from agentpost.domain.allowances import NAMES, Allowances
from agentpost.domain.errors import not_found
from agentpost.domain.times import SECOND
from agentpost.ratelimit.base import Rule
from agentpost.services.context import AppContext
from agentpost.settings import Settings

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NO_OVERRIDES = "{}"


@dataclass(frozen=True, slots=True)
class Rules:
    """An account's allowances as windows."""

    allowances: Allowances
    requests: tuple[Rule, ...]
    messages: tuple[Rule, ...]
    waits: tuple[Rule, ...]
    work_reads: tuple[Rule, ...]


def rules_of(settings: Settings, limits_json: str) -> Rules:
    """The windows of an account with these overrides; made once for each set of numbers."""
    return _rules(allowances_of(settings, limits_json))


def allowances_of(settings: Settings, limits_json: str) -> Allowances:
    """The settings, overridden by what is kept with the account."""
    allowances = Allowances(
        requests_per_minute=settings.requests_per_minute,
        messages_per_hour=settings.messages_per_hour,
        messages_per_day=settings.messages_per_day,
        waits_per_hour=settings.waits_per_hour,
        work_reads_per_hour=settings.work_reads_per_hour,
        running_jobs=settings.running_jobs_max,
    )
    return allowances.overridden(json.loads(limits_json))


def running_jobs_max(settings: Settings, limits_json: str) -> int:
    """How many jobs an account may run at once."""
    if limits_json == NO_OVERRIDES:
        return settings.running_jobs_max
    return allowances_of(settings, limits_json).running_jobs


async def show(ctx: AppContext, id_or_email: str) -> tuple[Allowances, frozenset[str]]:
    """An account's allowances, and the names of those set for it alone; raises ``not_found``."""

    def fn(tx: Tx) -> str:
        account = rows.find(tx, id_or_email)
        if account is None:
            raise not_found("account")
        return account.limits_json

    limits_json = await ctx.db.read(fn)
    overridden = frozenset(json.loads(limits_json)) & frozenset(NAMES)
    return allowances_of(ctx.settings, limits_json), overridden


async def override(ctx: AppContext, id_or_email: str, changes: Mapping[str, int | None]) -> None:
    """Set an account's own numbers; None takes one back to the settings. Effective in a second.

    Raises ``not_found``, and `ValueError` for a number below one or a name that is no allowance.
    """
    for name, value in changes.items():
        if name not in NAMES:
            raise ValueError(f"{name} is no limit: there are {', '.join(NAMES)}")
        if value is not None and value < 1:
            raise ValueError(f"{name} must be 1 or more")

    def fn(tx: Tx) -> None:
        found = rows.find(tx, id_or_email)
        if found is None:
            raise not_found("account")
        kept = json.loads(rows.lock(tx, found.id).limits_json)
        merged = {**kept, **changes}
        left = {name: value for name, value in sorted(merged.items()) if value is not None}
        rows.set_limits(tx, found.id, json.dumps(left))

    await ctx.db.write(fn)


@lru_cache(maxsize=1024)
def _rules(allowances: Allowances) -> Rules:
    a = allowances
    return Rules(
        a,
        requests=(Rule("requests", a.requests_per_minute, MINUTE),),
        messages=(
            Rule("messages_hour", a.messages_per_hour, HOUR),
            Rule("messages_day", a.messages_per_day, DAY),
        ),
        waits=(Rule("waits", a.waits_per_hour, HOUR),),
        work_reads=(Rule("work_reads", a.work_reads_per_hour, HOUR),),
    )
