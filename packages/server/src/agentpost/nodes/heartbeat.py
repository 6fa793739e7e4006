"""This node's heartbeat, and which other nodes are dead (design: Ownership).

It has its own thread and connection, so neither a busy pool nor a long takeover can make a living
node seem dead. Each node beats once a second. This node considers another dead when that node's
beat has not moved during `DEAD_SECONDS` of its own observation. A broken session resets the
observation, because a database restart must not mark every node dead. A pause of this node (a
sleeping or slow machine) counts as one observation, so a slow machine still detects dead nodes,
later.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from agentpost.clock import Clock
from agentpost.db.session import DedicatedConnection
from agentpost.domain.times import seconds
from agentpost.nodes import faults, rows as node_rows
from agentpost.nodes.lease import Lease
from agentpost.nodes.rows import Beat

log = structlog.get_logger(__name__)
BEAT_SECONDS = 1.0
DEAD_SECONDS = 3.0
_STOP_SECONDS = 2.0
_FIRST_TRIES = 5
_COMPARED_BEATS: Final = 10
"""After so many beats the clock is compared with the database's again."""
_REJOIN_BEATS: Final = 2
"""At so many beats after a gap this node looks again and says that it is back. Its session for
notices may have broken in the gap, which shows only when the first notice is lost."""
_WORKER = "worker"
"""The role of nodes that answer no callers."""
_WORKING = frozenset({_WORKER, "all"})
"""The roles of nodes that run jobs."""


@dataclass(slots=True)
class _Seen:
    beat: Beat
    silent: float

    @property
    def lives(self) -> bool:
        """Whether it has not been silent for too long."""
        return self.silent < DEAD_SECONDS


class Heartbeat:
    """Beats of ``node`` from `start` to `stop`, which renew ``lease``. Safe on any thread.

    Args:
        connection: where it beats; from now on it belongs to this.
        held_calls: how many calls the node holds now.
        rejoin: called at the next beat after a gap in which others may have taken this node for
            dead, and at the beat after that.

    Attributes:
        clock_ahead: how many microseconds the node's clock was ahead of the database's when they
            were compared last, at least; None where there is nothing to compare, or not yet.
    """

    def __init__(
        self,
        connection: DedicatedConnection,
        node: str,
        clock: Clock,
        lease: Lease,
        held_calls: Callable[[], int] = lambda: 0,
        rejoin: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = connection
        self._node = node
        self._clock = clock
        self._lease = lease
        self._held_calls = held_calls
        self._rejoin = rejoin
        self.clock_ahead: int | None = None
        self._unbroken_since: float | None = None  # as the lease said at the last beat
        self._rejoin_beats_left = 0
        self._seen: dict[str, _Seen] = {}
        self._until_compared = 0  # beats
        self._is_known = False  # whether the last look went well
        self._looked = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Beat once, so that we are known before we own anything, and go on. Blocks; raises what
        the database raises when it does so several times."""
        for _ in range(_FIRST_TRIES - 1):
            try:
                self._beat()
                break
            except Exception as error:  # a database that starts, too, or has much to do
                log.warning("heartbeat_interrupted", error=str(error).strip())
                self._stopped.wait(BEAT_SECONDS)
        else:
            self._beat()
        self._thread.start()

    def stop(self) -> None:
        """Beat no more. Blocks."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)  # it may be waiting for a server that hangs
        self._connection.close()

    def dead(self) -> dict[str, int]:
        """The nodes that have been silent for too long, with their last beat."""
        return {node: it.beat.number for node, it in self._seen.items() if not it.lives}

    def silent(self) -> dict[str, int]:
        """For how many microseconds each other node has been silent."""
        return {node: seconds(it.silent) for node, it in self._seen.items()}

    def living(self) -> int:
        """How many other nodes live, as far as is known here."""
        return sum(it.lives for it in self._seen.values())

    def readers_elsewhere(self) -> bool:
        """Whether another node lives that answers callers, or may live: that is not known before
        the first look, and after one that failed."""
        others = self._seen.values()
        return not self._is_known or any(it.lives and it.beat.role != _WORKER for it in others)

    def workers_elsewhere(self) -> list[str]:
        """The other nodes that live, run jobs and do not drain. None are known before the first
        look, and after one that failed."""
        return sorted(
            node
            for node, it in self._seen.items()
            if it.lives and it.beat.role in _WORKING and not it.beat.is_draining
        )

    def _beat_on(self) -> None:
        beating = True
        while not self._stopped.wait(max(0.0, self._looked + BEAT_SECONDS - time.monotonic())):
            try:
                self._beat()
            except Exception as error:
                self._is_known = False
                self._seen, self._looked = {}, time.monotonic()
                if beating:
                    log.warning("heartbeat_interrupted", error=str(error).strip())
                beating = False
            else:
                if not beating:
                    log.info("heartbeat_resumed")
                beating = True

    def _beat(self) -> None:
        if self._until_compared == 0:
            self._compare_clocks()
            self._until_compared = _COMPARED_BEATS
        self._until_compared -= 1
        sent_at = self._lease.now()
        held, now = self._held_calls(), self._clock.now
        beats = self._connection.write(
            lambda tx: node_rows.beat(tx, self._node, now(), held, self.clock_ahead)
        )
        self._lease.renew(sent_at)
        self._look(beats)
        since, self._unbroken_since = self._unbroken_since, self._lease.unbroken_since
        if since not in (None, self._unbroken_since):
            self._rejoin_beats_left = _REJOIN_BEATS
        if self._rejoin_beats_left:
            self._rejoin_beats_left -= 1
            self._rejoin()

    def _compare_clocks(self) -> None:
        before = self._clock.now()
        there = self._connection.time()
        if there is not None:
            self.clock_ahead = faults.clock_ahead_of(there, before, self._clock.now())

    def _look(self, beats: dict[str, Beat]) -> None:
        """Take in everybody's beat. The view is replaced as a whole: others read it meanwhile."""
        now = time.monotonic()
        interval = min(now - self._looked, BEAT_SECONDS)
        self._looked = now
        view: dict[str, _Seen] = {}
        for node, beat in beats.items():
            if node != self._node:
                before = self._seen.get(node)
                still = before is not None and before.beat.number == beat.number
                view[node] = _Seen(beat, before.silent + interval if before and still else 0.0)
        self._seen, self._is_known = view, True
