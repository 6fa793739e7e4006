"""Credits: integer millionths inside, floats only at the edge (design: Credits).

The balance is what was granted minus what was charged; held credits are still in the balance but
promised to a running step. Available = balance - held, and none of the three is ever negative.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.jobs.rules import Reason


class LedgerKind(StrEnum):
    """A line of the ledger: balance = grants - charges, held = holds - releases. A held step that
    succeeds writes a release and a charge. A grant below zero takes credits back."""

    GRANT = "grant"
    HOLD = "hold"
    RELEASE = "release"
    CHARGE = "charge"


SIGNS: Final = {
    LedgerKind.GRANT: (1, 0),
    LedgerKind.HOLD: (0, 1),
    LedgerKind.RELEASE: (0, -1),
    LedgerKind.CHARGE: (-1, 0),
}
"""Whether a line adds to the balance and to what is held, or takes from it."""


class Ceiling(StrEnum):
    """A limit on credits besides the account's balance (design: Spend ceilings)."""

    MESSAGE = "message"  # ``max_credits`` of the message that started the work
    DAY = "day"  # ``max_credits_per_day`` of the key that sent it


class WorkCeilings(NamedTuple):
    """The ceilings of a message's work: what that may use in all, and what its key may use in a
    day, in millionths; None: there is none."""

    message_id: str
    key_id: str
    max_credits: int | None
    per_day: int | None


@dataclass(frozen=True, slots=True)
class Headroom:
    """What work may still use, in millionths, and which ceiling says so; None: the balance."""

    left: int
    ceiling: Ceiling | None = None


@dataclass(frozen=True, slots=True)
class Wallet:
    """An account's credits in millionths."""

    balance: int
    held: int

    @property
    def available(self) -> int:
        """The credits that new work may use."""
        return self.balance - self.held

    def after(self, kind: LedgerKind, amount: int) -> "Wallet":
        """The wallet when that line of the ledger is written."""
        to_balance, to_held = SIGNS[kind]
        return Wallet(self.balance + to_balance * amount, self.held + to_held * amount)


def admission(
    *, hosting_fees_due: bool, executing: int, slots: int, available: int
) -> Reason | None:
    """Why new work may not start, or None. When several reasons apply the order is fixed.
    ``out_of_credits`` queues the work, the other two refuse it for good (design: Credits)."""
    if hosting_fees_due:
        return Reason.HOSTING_FEES
    if executing >= slots:
        return Reason.TOO_MANY_RUNNING
    if available <= 0:
        return Reason.OUT_OF_CREDITS
    return None


def chargeable(available: int, amount: int, left: int) -> int | None:
    """What to charge for work already done: as much as is available, so the balance may reach zero;
    at most what is ``left`` by a ceiling. None when nothing at all is left."""
    left = min(available, left)
    return None if amount > 0 and left <= 0 else min(amount, left)


class UsageGroup(StrEnum):
    """What a line of usage stands for."""

    DAY = "day"
    KEY = "key"
    CONVERSATION = "conversation"


APP: Final = "app"
"""The id of the line for messages written in the web app: they have no key."""
DELETED: Final = "deleted"
"""The id of the line for credits whose message is deleted."""
ID_PATTERNS: Final = {
    UsageGroup.DAY: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    UsageGroup.KEY: f"{ids.pattern(ids.KEY)}|^{APP}$|^{DELETED}$",
    UsageGroup.CONVERSATION: f"{ids.pattern(ids.CONVERSATION)}|^{APP}$|^{DELETED}$",
}
"""What the ids of lines look like."""


@dataclass(slots=True)
class UsageLine:
    """What was used on a day, with a key or in a conversation.

    Attributes:
        id: a day such as ``2026-01-31``, the id of a key or conversation, `APP` or `DELETED`.
        jobs: those that the messages started; refused starts are none.
        millionths: of the credits that were charged in so many ``charges``.
        name: of the key or conversation; None for a day, and without one.
        title: the first line of a conversation's first message, while it is kept; else "".
    """

    id: str = ""
    messages: int = 0
    jobs: int = 0
    millionths: int = 0
    charges: int = 0
    name: str | None = None
    title: str = ""

    @property
    def credits(self) -> float:
        """What was charged."""
        return to_credits(self.millionths)

    @property
    def key_id(self) -> str | None:
        """The id, if it is that of a key."""
        return self.id if self.id.startswith(ids.KEY) else None
