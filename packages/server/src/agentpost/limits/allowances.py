"""The limits of an account: the settings, unless an operator set other values for it (spec:
Limits)."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache

from agentpost.accounts import rows
from agentpost.blobs import account_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.times import DAY, HOUR, MINUTE
from agentpost.ratelimit.base import Rule
from agentpost.settings import Settings
from agentpost.transactions import read_transaction, write_transaction

NO_OVERRIDES = "{}"


@dataclass(frozen=True, slots=True)
class Allowances:
    """Requests count for each key, the rest for the account. All are whole numbers above 0, except
    ``stored_bytes``, which may be 0 (no limit), and ``conversation_required``, which is 1 when
    every message has to name a conversation, else 0."""

    requests_per_minute: int
    messages_per_hour: int
    messages_per_day: int
    waits_per_hour: int
    work_reads_per_hour: int
    running_jobs: int
    stored_bytes: int
    conversation_required: int

    def as_dict(self) -> dict[str, int]:
        """By name."""
        return asdict(self)


NAMES = tuple(field.name for field in fields(Allowances))
MAY_BE_ZERO = frozenset({"stored_bytes", "conversation_required"})
SWITCHES = frozenset({"conversation_required"})
"""Those that are 0 or 1."""
_SETTINGS = {"running_jobs": "running_jobs_max", "stored_bytes": "stored_bytes_max"}
"""The settings that have another name."""


@dataclass(frozen=True, slots=True)
class Rules:
    """An account's allowances as windows."""

    allowances: Allowances
    requests: tuple[Rule, ...]
    messages: tuple[Rule, ...]
    waits: tuple[Rule, ...]
    work_reads: tuple[Rule, ...]


def rules_of(settings: Settings, limits_json: str = NO_OVERRIDES) -> Rules:
    """The windows of an account with these overrides; made once for each set of numbers."""
    return _rules(allowances_of(settings, limits_json))


def allowances_of(settings: Settings, limits_json: str) -> Allowances:
    """The settings, overridden by what is kept with the account."""
    overrides = json.loads(limits_json)
    numbers = {name: getattr(settings, _SETTINGS.get(name, name)) for name in NAMES}
    return Allowances(**{name: int(overrides.get(name, numbers[name])) for name in NAMES})


@read_transaction
def show(tx: Tx, ctx: AppContext, id_or_email: str) -> tuple[Allowances, frozenset[str], int]:
    """An account's allowances, the names of those set for it alone, and how many bytes of files it
    has stored; raises ``not_found``."""
    account = rows.find_existing(tx, id_or_email)
    overridden = frozenset(json.loads(account.limits_json)) & frozenset(NAMES)
    allowances = allowances_of(ctx.settings, account.limits_json)
    return allowances, overridden, account_rows.used(tx, account.id)


@write_transaction
def recount(tx: Tx, ctx: AppContext, id_or_email: str) -> int:
    """Count the bytes that an account has stored anew; raises ``not_found``."""
    account_id = rows.find_existing(tx, id_or_email).id
    account_rows.recount(tx, account_id)
    return account_rows.used(tx, account_id)


def validate(changes: Mapping[str, int | None]) -> Mapping[str, int | None]:
    """The changes. Raises `ValueError` for a number too small or a name that is no allowance."""
    for name, value in changes.items():
        if name not in NAMES:
            raise ValueError(f"{name} is not a limit; limits: {', '.join(NAMES)}")
        least = 0 if name in MAY_BE_ZERO else 1
        if value is not None and value < least:
            raise ValueError(f"{name} must be {least} or more")
        if value is not None and name in SWITCHES and value > 1:
            raise ValueError(f"{name} must be 0 or 1")
    return changes


@write_transaction
def override(tx: Tx, ctx: AppContext, id_or_email: str, changes: Mapping[str, int | None]) -> None:
    """Set an account's own numbers; None takes one back to the settings. Effective in a second.
    Raises ``not_found``, and what `validate` raises."""
    validate(changes)
    account_id = rows.find_existing(tx, id_or_email).id
    overrides = json.loads(rows.lock(tx, account_id).limits_json)
    merged = {**overrides, **changes}
    left = {name: value for name, value in sorted(merged.items()) if value is not None}
    rows.set_limits(tx, account_id, json.dumps(left))


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
