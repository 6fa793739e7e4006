"""The ports and settings that every use case gets, wired by `bootstrap`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, ParamSpec, Protocol

from agentpost.audit.refusals import RefusedActions
from agentpost.clock import Clock
from agentpost.contract.shape import SigningLinks
from agentpost.db.session import Database
from agentpost.egress.client import Egress
from agentpost.engine.base import Engine
from agentpost.following.held_calls import HeldCalls
from agentpost.following.open_streams import OpenStreams
from agentpost.limits.account_steps import AccountSteps, AccountThreads
from agentpost.limits.intake import Intake
from agentpost.nodes.lease import Lease
from agentpost.observability.counters import Counters
from agentpost.operations.health_state import Health
from agentpost.processes.scanner import Scanner
from agentpost.ratelimit.base import RateLimiter
from agentpost.record.tickets import Handover, TurnTicket
from agentpost.requests.actions import RequestLog
from agentpost.secrets.encryption import SecretCipher
from agentpost.sessions.passwords import Passwords
from agentpost.sessions.provider_cache import ProviderCache
from agentpost.settings import Settings
from agentpost.storage.base import Storage
from agentpost.storage.incoming import Incoming
from agentpost.storage.signing import CursorSigner
from agentpost.tasks.idle_polls import Resting
from agentpost.wakeups.base import Wakeups

P = ParamSpec("P")
NODES = "nodes"
"""What nodes listen to for work that another one has let go (`Wakeups.listen`)."""


class Subscribers(Generic[P]):
    """Callbacks that are called together; without any, a call does nothing. Safe on any thread."""

    def __init__(self) -> None:
        self._callbacks: tuple[Callable[P, object], ...] = ()

    def add(self, callback: Callable[P, object]) -> None:
        """Call this, too, from now on."""
        self._callbacks = (*self._callbacks, callback)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all of them."""
        for callback in self._callbacks:
            callback(*args, **kwargs)


class TurnRunner(Protocol):
    """Runs turns in this process; safe to call on any thread."""

    def run(self, ctx: "AppContext", ticket: TurnTicket) -> None:
        """Run the agent's turn for a message that this node owns."""

    def abort(self, message_id: str) -> None:
        """The message's turn is over: end what runs of it here."""


@dataclass(slots=True)
class AppContext:
    """The wired parts.

    ``lease``: for how long what ``node`` owns stays its own. ``turns`` is None in a process that
    runs no agent; ``turns_closed``: no turn begins here any more, since this node drains.
    ``deliveries_due``: webhooks became due for these endpoints. ``endpoint_changed``
    or was removed: claimed deliveries that were not sent yet are read again. ``external_commit``:
    another process changed the database, where that can be seen. ``health``: what the
    last checks of the parts found. ``storage_id``: the name that the file storage had at the start,
    "" for none; None: not looked at. ``storage_pending``: it is not the one of the other nodes, so
    this one takes no files (`blobs.identity`). ``silent``: node -> for how many
    microseconds this one has seen no beat of it (`nodes.heartbeat`). ``unavailable``: the API is
    switched off (see `operations.maintenance`). ``handover``: messages from commits to the POST
    calls that wait. ``put_off``: sweep -> id -> (tries, not before, by `Clock.passed`) of what it
    failed on (`tasks.sweeps`). ``resting``: the looks that need not be
    repeated. ``streams``: the open event streams. ``account_steps``: the calls of accounts, in
    turn. ``account_threads``: dear work of callers.
    ``refused_actions``: what the audit log counts instead of keeping it.
    ``intake``: the messages that wait to be stored. ``counters``: totals for `/metrics`.
    ``scanner``: of files that clients bring; None: they are not scanned.
    """

    settings: Settings
    clock: Clock
    db: Database
    storage: Storage
    incoming: Incoming
    wakeups: Wakeups
    engine: Engine
    egress: Egress
    links: SigningLinks
    cursors: CursorSigner
    cipher: SecretCipher
    limiter: RateLimiter
    requests: RequestLog
    node: str
    new_egress: Callable[[], Egress] = Egress
    lease: Lease = field(default_factory=Lease)
    agent_name: str = ""
    examples: tuple[str, ...] | None = None
    turns: TurnRunner | None = None
    turns_closed: bool = False
    deliveries_due: Subscribers[[Sequence[str]]] = field(default_factory=Subscribers)
    endpoint_changed: Subscribers[[str]] = field(default_factory=Subscribers)
    external_commit: Subscribers[[]] = field(default_factory=Subscribers)
    health: Health = field(default_factory=Health)
    storage_id: str | None = None
    storage_pending: bool = False
    silent: Callable[[], Mapping[str, int]] = dict
    unavailable: bool = False
    streams: OpenStreams = field(default_factory=OpenStreams)
    account_steps: AccountSteps = field(default_factory=AccountSteps)
    account_threads: AccountThreads = field(default_factory=AccountThreads)
    refused_actions: RefusedActions = field(default_factory=RefusedActions)
    put_off: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    passwords: Passwords = field(default_factory=Passwords)
    provider: ProviderCache = field(default_factory=ProviderCache)
    scanner: Scanner | None = None
    counters: Counters = field(default_factory=Counters)
    handover: Handover = field(init=False)
    held_calls: HeldCalls = field(init=False)
    intake: Intake = field(init=False)
    resting: Resting = field(init=False)

    def __post_init__(self) -> None:
        self.handover = Handover(self.wakeups)
        self.held_calls = HeldCalls(self.wakeups)
        self.intake = Intake(self.clock, self.settings.messages_arriving_max)
        self.resting = Resting(self.db, self.clock)
