"""The doctor: everything that is not final must have an owner or a deadline, and be looked after.

What is overdue is named whatever sweep was to do it: turns, jobs, messages past their retention,
bytes, uploads, deleted works, endpoints that only fail, mail.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agentpost.db import doctor as rows
from agentpost.db.session import Tx
from agentpost.domain.times import seconds
from agentpost.services import lost
from agentpost.services.context import House

_MISSING = "its node lives, but nothing there runs it"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that nobody takes care of."""

    id: str
    state: str
    problem: str

    def as_dict(self) -> dict[str, str]:
        """For printing."""
        return asdict(self)


async def examine(house: House) -> list[Finding]:
    """Everything that is overdue, and every turn and job that its node does not run; there should
    be none. Mail counts only when there is a server to send it (design: 4.21)."""
    settings = house.settings
    limits = {
        "turn_limit": seconds(settings.turn_limit_seconds + settings.sweep_seconds),
        "failing_limit": seconds(settings.webhook_disable_seconds),
    }
    mail_is_sent = bool(settings.smtp_url.get_secret_value())

    def fn(tx: Tx) -> list[Finding]:
        found = rows.neglected(tx, house.clock.now(), **limits, mail_is_sent=mail_is_sent)
        neglected = [Finding(*row) for row in found]
        missing = [Finding(*row, _MISSING) for row in lost.still_missing(tx)]
        return [*neglected, *missing]

    return await house.db.read(fn)
