"""How a worker process may end before the function it runs, and whose doing that was. What the
function did to its process will happen again and is its failure; a process that somebody else
killed, such as the system when memory ran out for all, says nothing of it: it is run again."""

import signal
from typing import Final

_KILLING: Final = frozenset(
    {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
)
"""Signals that come from outside; the others are what a process gets for what it does."""


class WorkerDied(Exception):
    """The process that ran a function ended before the function did; the text says how."""


class WorkerKilled(WorkerDied):
    """It was killed from outside, while the function ran: that may be run again."""


class LimitExceeded(WorkerDied):
    """The function used more CPU time or memory than a call may; the text names the setting."""


class OutOfMemory(LimitExceeded):
    """The limit was of memory, which earlier calls of the process may have filled."""


class NoWorker(WorkerDied):
    """No process could be started, or kept; the function was not called."""


class NotBegun(WorkerDied):
    """The process ended before it began with the function, of what is in ``death``: another one may
    take the call."""

    def __init__(self, death: WorkerDied) -> None:
        super().__init__(str(death))
        self.death = death


def died(code: int | None, *, by_us: bool = False) -> WorkerDied:
    """What a process that ended with that exit code, negative for a signal, died of; ``by_us``: we
    killed it, because it had closed its channel to us."""
    if by_us:
        return WorkerDied("its process closed its connection to the server")
    if code is None or code >= 0:
        return WorkerDied(f"its process exited with code {code}")
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal has no name
        name = f"signal {-code}"
    if -code in _KILLING:
        why = ", most often because memory ran out" if -code == signal.SIGKILL else ""
        return WorkerKilled(f"its process was killed from outside ({name}){why}")
    return WorkerDied(f"its process was ended by {name}")
