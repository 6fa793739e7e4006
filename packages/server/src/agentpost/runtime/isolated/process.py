"""An agent process as the server sees it."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Protocol

import structlog

from agentpost.agents.deaths import died
from agentpost.author.frames import Frame
from agentpost.author.worker_process import frame
from agentpost.processes.worker import WorkerProcess

log = structlog.get_logger(__name__)
_LOOK_SECONDS: Final = 1.0
_SILENT_SECONDS_MORE: Final = 5.0
"""A process that holds its interpreter says nothing. It is given so much longer than the loop."""
_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "critical"})


@dataclass(frozen=True, slots=True)
class Death:
    """Why a process ended; ``culprit``: the number of the run whose doing it was, if it is
    known; ``ours``: we ended it, which was no run's doing."""

    reason: str
    culprit: int | None = None
    ours: bool = False


class Hearing(Protocol):
    """A run in the process."""

    owner: str
    ending: bool
    """It is stopped: nothing of it is lost with the process."""

    def hear(self, message: Frame) -> None:
        """Take what it says."""

    def on_death(self, death: Death) -> None:
        """The process has ended."""


class AgentProcess(WorkerProcess):
    """One process, with what runs in it. Belongs to the agent loop."""

    MODULE: ClassVar = "agentpost.author.agent_process"
    REPLY_BYTES_MAX: ClassVar = 256 * 1024 * 1024

    runs: dict[int, Hearing]
    run_count: int
    """How many have its place, with those that have not begun or not quite ended."""
    is_alone: bool
    """It is for one run that is suspected."""
    is_retired: bool
    """It takes no further runs."""
    cpu: float
    memory: int
    """What it has used, in seconds and bytes."""
    culprit_owner: str | None
    """The turn or job whose doing its death was."""

    def begin(
        self,
        stall_seconds: float,
        cpu_seconds: float | None,
        on_end: "Callable[[AgentProcess, Death], None]",
    ) -> None:
        """It is ready: hear what it says. ``on_end`` is called before its runs hear of its end."""
        self.runs, self.run_count, self.culprit_owner = {}, 0, None
        self.is_alone = self.is_retired = False
        self.cpu, self.memory = 0.0, 0
        self._on_end = on_end
        self._numbers = 0
        self._stall_seconds = stall_seconds
        self._cpu_seconds = cpu_seconds
        self._death: Death | None = None
        self._silent = 0.0
        self._looking: asyncio.TimerHandle | None = None
        # In a context of its own: that of the run which needed the process is another's later.
        loop = asyncio.get_running_loop()
        self._hearing = Context().run(loop.create_task, self._hear())

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def add(self, run: Hearing) -> int:
        """It runs here from now on; its number."""
        self._numbers += 1
        self.runs[self._numbers] = run
        if self._looking is None:
            self._silent = 0.0
            self._look_later()
        return self._numbers

    def say(self, message: Frame) -> None:
        """Say it, if there is anybody to hear it."""
        if self._writer.is_closing():
            return  # its end is told by `Hearing.on_death`
        self._writer.write(frame(message))

    def end(self, death: Death) -> None:
        """Kill it for that reason."""
        self._death = self._death or death
        self.kill()

    # --- parts ------------------------------------------------------------------------------------
    async def _hear(self) -> None:
        try:
            while True:
                self._take(await self._receive())
        except (asyncio.IncompleteReadError, OSError):
            pass  # it has ended
        except Exception as error:  # it is the author's process: it may say anything
            log.exception("agent_process_not_understood", pid=self.pid)
            self.end(Death(f"it said what cannot be understood: {error!r}"))
        finally:
            self.leave()
            await self.wait_until_ended()
            death = self._death or self._found_dead()
            if self._looking is not None:
                self._looking.cancel()
            self._on_end(self, death)
            for run in list(self.runs.values()):
                run.on_death(death)

    def _found_dead(self) -> Death:
        code = self._code()
        if code == -signal.SIGXCPU and self._cpu_seconds is not None:
            most = f"{self._cpu_seconds:g} s"
            return Death(f"it used more than {most} of CPU time (the setting agent_cpu_seconds)")
        return Death(str(died(code, by_us=self._killed)))

    def _take(self, message: Frame) -> None:
        self._silent = 0.0
        if "log" in message:
            _log(message["log"])
            self._hand_over(message["log"])
        elif "beat" in message:
            self.cpu, self.memory = message["beat"]["cpu"], message["beat"]["memory"]
        elif "stalled" in message:
            log.warning("agent_process_stalled", pid=self.pid, stack=message["stack"])
            self._note_stall(message["run"])
        elif "died" in message:
            alone = len(self.runs) == 1
            self._death = Death(message["died"], message["run"] if alone else None)
        elif (run := self.runs.get(message["run"])) is not None:
            run.hear(message)

    def _hand_over(self, event: Frame) -> None:
        """A line of the author's is kept with its run, too."""
        if event.get("event") in ("agent_output", "agent_log"):
            owner = event.get("job_id") or event.get("message_id")
            for run in self.runs.values():
                if run.owner == owner:
                    run.hear({"printed": event})

    def _note_stall(self, culprit: int | None) -> None:
        most = f"{self._stall_seconds:g} s"
        why = f"it held its process for {most} without awaiting (the setting agent_stall_seconds)"
        self.end(Death(why, culprit))

    def _look_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._looking = Context().run(partial(loop.call_later, _LOOK_SECONDS, self._look))

    def _look(self) -> None:
        """Count the silence by looks, not by the clock: this process may have stood still."""
        self._looking = None
        if not self.runs:
            return
        self._silent += _LOOK_SECONDS
        if self._silent >= self._stall_seconds + _SILENT_SECONDS_MORE:
            self._note_stall(None)
        else:
            self._look_later()


def _log(event: Mapping[str, Any]) -> None:
    """A line that the process made; the ids in it are those of the call it belongs to."""
    fields = {name: value for name, value in event.items() if name not in ("level", "self")}
    level = event.get("level")
    write = getattr(log, level if level in _LEVELS else "info")
    Context().run(partial(write, str(fields.pop("event", "")), **fields))
