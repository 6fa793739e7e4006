"""The agent processes of a server: which runs where, and what becomes of it when one ends.

At most ``most`` processes are shared by all runs. A run that is suspected of having ended one runs
alone in a further process, of which there are as many at most: so what is innocent is not held up,
and what ends its process again is known to have done it (`Suspects`).
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast

import structlog

from agentpost.agents import JobFn, Turn, values
from agentpost.author.frames import Frame, inputs_frame
from agentpost.author.objects import AuthorJob, AuthorTurn
from agentpost.nodes import poison_rules
from agentpost.processes import capacity
from agentpost.processes.environment import Interpreter, bytecode_folder
from agentpost.processes.prefix import CommandPrefix
from agentpost.processes.starting import Starter
from agentpost.runtime.isolated.process import AgentProcess, Death, ProcessDied, Talk
from agentpost.runtime.journal import Journal, StopCause
from agentpost.runtime.run_job import JobCodeMissing
from agentpost.settings import Settings

log = structlog.get_logger(__name__)
_BOOT_SECONDS_MAX: Final = 120.0
_RETIRE_SHARE: Final = 0.5
"""A process that has used so much of its CPU time or memory takes no further runs."""


class NoAgentProcess(OSError):
    """No agent process could be started; the text says why."""


class AgentProcesses:
    """Runs turns and jobs in processes of their own, of which each may use what the settings say.
    ``scratch`` is a folder of their own. Belongs to the agent loop."""

    def __init__(self, settings: Settings, scratch: Path) -> None:
        self._most = settings.agent_processes
        self._agent = settings.agent
        self._memory_bytes = settings.agent_memory_bytes or capacity.default_memory_bytes()
        self._cpu_seconds = settings.agent_cpu_seconds or None
        self._stall_seconds = settings.agent_stall_seconds
        self._starter = Starter(
            AgentProcess,
            scratch=scratch,
            threads=1,
            env=settings.worker_env,
            bytecode_folder=bytecode_folder(settings.data_path),
            prefix=CommandPrefix.parse(settings.worker_command_prefix),
            first=1 + (settings.pool_workers or capacity.default_workers()),
            interpreter=Interpreter(settings.agent_python),
        )
        self._suspects = Suspects()
        self._processes: set[AgentProcess] = set()
        self._starting: dict[asyncio.Task[AgentProcess], bool] = {}  # whether for one run alone
        self._changed = asyncio.Event()
        self._closed = False

    async def start(self) -> None:
        """Start the first process. Raises `NoAgentProcess`."""
        await asyncio.to_thread(self._starter.prepare)
        await self._begin_starting(alone=False)

    async def aclose(self) -> None:
        """End all processes."""
        self._closed = True
        for starting in list(self._starting):
            starting.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for process in list(self._processes):
            process.end(Death("the server ends", ours=True))
        await asyncio.gather(*(process.wait_until_ended() for process in list(self._processes)))
        await asyncio.to_thread(self._starter.tidy)

    # --- what the runners call --------------------------------------------------------------------
    async def take_turn(self, turn: Turn) -> None:
        """The agent function."""
        author = cast("AuthorTurn", turn)
        ids = {"message_id": author.message.message_id}
        await self._run(author, {"ids": ids, "turn": inputs_frame(author.inputs)})

    def find_job(self, ref: str) -> JobFn:
        """The job function of an import name (see `runtime.run_job.FindJob`)."""

        async def work(job: AuthorJob, **args: Any) -> str | None:
            ids = {"message_id": job.message.message_id, "job_id": job.id}
            fn = {"fn": ref, "args": values.dump_local(args)}
            end = await self._run(job, {"ids": ids, "job": inputs_frame(job.inputs), **fn})
            if "missing" in end:
                raise JobCodeMissing(end["missing"])
            text: str | None = end.get("text")
            return text

        return work

    async def _run(self, author: AuthorTurn | AuthorJob, begin: Frame) -> Frame:
        """Run it in a process. When that ends meanwhile, the run is ended here, to be begun
        again."""
        journal = cast("Journal", author.backend)
        owner, is_over = journal.owner, True
        process = await journal.guard(self._choose(owner))
        acquit: asyncio.TimerHandle | None = None
        if process.is_alone:
            loop = asyncio.get_running_loop()
            acquit = loop.call_later(poison_rules.ALONE_SECONDS, self._suspects.acquit, owner)
        try:
            return await Talk(process, author, journal).run(begin)
        except ProcessDied as died:
            times = self._suspects.times(owner) if process.culprit_owner == owner else 0
            try:
                await journal.process_died(f"its agent process ended: {died.death.reason}", times)
            finally:
                is_over = journal.stopped is not StopCause.PROCESS_DIED
        finally:
            if is_over:
                self._suspects.forget(owner)
            if acquit is not None:
                acquit.cancel()
            self._give_back(process)

    # --- places -----------------------------------------------------------------------------------
    async def _choose(self, owner: str) -> AgentProcess:
        """Wait for a process that may take the run, and mark it as taken."""
        if self._suspects.is_suspect(owner):
            try:
                async with asyncio.timeout(poison_rules.ALONE_SECONDS):
                    return await self._take(alone=True)
            except TimeoutError:  # others hold those places for long
                self._suspects.acquit(owner)
        return await self._take(alone=False)

    async def _take(self, *, alone: bool) -> AgentProcess:
        """The least busy process of those for one run alone, or of the others."""
        while True:
            kind = [p for p in self._processes if p.is_alone == alone and not p.is_retired]
            usable = [p for p in kind if p.alive and not (alone and p.run_count)]
            process = min(usable, key=lambda p: (p.run_count, p.pid), default=None)
            starts = sum(each == alone for each in self._starting.values())
            has_room = len(kind) + starts < self._most and (alone or not starts)
            if has_room and (process is None or process.run_count):
                starting = self._begin_starting(alone=alone)
                if process is None:
                    await asyncio.wait({starting})
                    if starting.exception() is not None:
                        await starting  # raises
                    continue
            if process is not None:
                process.run_count += 1
                return process
            self._changed.clear()
            await self._changed.wait()

    def _give_back(self, process: AgentProcess) -> None:
        """A run has left its place; a process that has used much ends with its last one."""
        process.run_count -= 1
        if not process.is_alone and not process.is_retired and self._has_used_much(process):
            count = sum(each.is_retired for each in self._processes)
            process.is_retired = count < self._most
        if not process.run_count and (process.is_alone or process.is_retired):
            process.is_retired = True
            process.leave()
        self._changed.set()

    def _has_used_much(self, process: AgentProcess) -> bool:
        cpu, memory = self._cpu_seconds, self._memory_bytes
        has_computed = cpu is not None and process.cpu > cpu * _RETIRE_SHARE
        return has_computed or process.memory > memory * _RETIRE_SHARE

    # --- processes --------------------------------------------------------------------------------
    def _begin_starting(self, *, alone: bool) -> asyncio.Task[AgentProcess]:
        starting = asyncio.get_running_loop().create_task(self._start(alone=alone))
        self._starting[starting] = alone
        starting.add_done_callback(self._starting_ended)
        return starting

    def _starting_ended(self, starting: asyncio.Task[AgentProcess]) -> None:
        del self._starting[starting]
        self._changed.set()
        if not starting.cancelled() and (error := starting.exception()) is not None:
            log.error("agent_process_not_started", reason=str(error))

    async def _start(self, *, alone: bool) -> AgentProcess:
        if self._closed:
            raise NoAgentProcess("the server ends")
        try:
            process = await self._starter.start()
            answer = await self._starter.greet(
                process,
                _BOOT_SECONDS_MAX,
                spec=self._agent,
                memory_bytes=self._memory_bytes,
                cpu_seconds=self._cpu_seconds,
                stall_seconds=self._stall_seconds,
            )
        except OSError as error:
            raise NoAgentProcess(f"an agent process could not be started: {error}") from error
        if "unknown" in answer:
            process.kill()
            raise NoAgentProcess(answer["unknown"])
        process.output.begin({"agent_process": process.pid})
        process.begin(self._stall_seconds, self._cpu_seconds, self._note_death)
        process.is_alone = alone
        self._processes.add(process)
        log.info("agent_process_started", pid=process.pid, alone=alone)
        return process

    def _note_death(self, process: AgentProcess, death: Death) -> None:
        """It is gone: who is to blame is found out before its runs hear of it."""
        self._processes.discard(process)
        owners = {run.owner for run in process.runs.values()}
        if owners and not death.ours:
            run = process.runs.get(death.culprit or 0)
            culprit = None if run is None else run.owner
            process.culprit_owner = self._suspects.died(owners, culprit)
            log.warning(
                "agent_process_died",
                pid=process.pid,
                reason=death.reason,
                runs=sorted(owners),
                culprit=process.culprit_owner,
            )
        self._changed.set()


class Suspects:
    """The runs that are to run alone, and how often in a row a process died of each. By the id of
    the turn or job: it is run again under another number."""

    def __init__(self) -> None:
        self._alone: set[str] = set()
        self._times: dict[str, int] = {}

    def is_suspect(self, owner: str) -> bool:
        """Whether it is to run alone."""
        return owner in self._alone

    def died(self, owners: Iterable[str], culprit: str | None = None) -> str | None:
        """A process died that ran these; the one whose doing it was, if it is known. ``culprit``:
        the one that was seen to be it."""
        running = set(owners)
        if culprit is None and len(running) == 1:
            (culprit,) = running
        if culprit is None:
            self._alone |= running
            return None
        self._alone.add(culprit)
        self._times[culprit] = self._times.get(culprit, 0) + 1
        return culprit

    def times(self, owner: str) -> int:
        """How often in a row a process died of it."""
        return self._times.get(owner, 0)

    def acquit(self, owner: str) -> None:
        """It held out long enough alone: it may run beside others."""
        self._alone.discard(owner)

    def forget(self, owner: str) -> None:
        """It has ended."""
        self._alone.discard(owner)
        self._times.pop(owner, None)
