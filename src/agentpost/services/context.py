"""The ports and settings that every use case gets, wired by `bootstrap`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentpost.clock import Clock
from agentpost.contract.shape import Links
from agentpost.db.session import Database
from agentpost.egress.client import Egress
from agentpost.engine.base import Engine
from agentpost.ratelimit.base import RateLimiter
from agentpost.services.health_state import Health
from agentpost.services.held_calls import HeldCalls
from agentpost.services.lease import Lease
from agentpost.services.requests import RequestLog
from agentpost.services.tickets import TurnTicket
from agentpost.settings import Settings
from agentpost.storage.base import Storage
from agentpost.storage.incoming import Incoming
from agentpost.storage.signing import CursorSigner
from agentpost.wakeups.base import Wakeups


class TurnRunner(Protocol):
    """Runs turns in this process; safe to call on any thread."""

    def run(self, ticket: TurnTicket) -> None:
        """Run the agent's turn for a message that this node owns."""
        ...


class DeliverySender(Protocol):
    """Sends webhooks in this process; safe to call on any thread."""

    def wake(self, endpoint_ids: Sequence[str]) -> None:
        """Something became due for these endpoints."""
        ...

    def changed(self, endpoint_id: str) -> None:
        """The endpoint was changed or removed: claimed deliveries that were not sent yet are read
        again."""
        ...


@dataclass(slots=True)
class AppContext:
    """The wired parts.

    ``lease``: for how long what ``node`` owns stays its own. ``turns`` is None in a process that
    runs no agent, ``sender`` in one that sends no webhooks (a CLI command). ``health``: what the
    last checks of the parts found. ``storage_id``: the name that the file storage had at the start,
    "" for none; None: not looked at. ``storage_pending``: it is not the one of the other nodes, so
    this one takes no files (`services.storage_identity`). ``unavailable``: the API is switched off
    (see `services.maintenance`).
    ``put_off``: sweep -> id -> (tries, not before, by `Clock.passed`) of what it failed on
    (`services.sweeping`).
    """

    settings: Settings
    clock: Clock
    db: Database
    storage: Storage
    incoming: Incoming
    wakeups: Wakeups
    engine: Engine
    egress: Egress
    links: Links
    cursors: CursorSigner
    limiter: RateLimiter
    requests: RequestLog
    node: str
    lease: Lease = field(default_factory=Lease)
    agent_name: str = ""
    turns: TurnRunner | None = None
    sender: DeliverySender | None = None
    health: Health = field(default_factory=Health)
    storage_id: str | None = None
    storage_pending: bool = False
    unavailable: bool = False
    held_calls: HeldCalls = field(default_factory=HeldCalls)
    put_off: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
