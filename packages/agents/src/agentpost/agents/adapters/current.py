"""What the code of a tool or a node reaches its job with, wherever a framework calls it."""

from __future__ import annotations

import base64
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from agentpost.agents.base import File, Job, Json, Said
from agentpost.domain.file_names import check_path

TOOL_FILES_BYTES_MAX: Final = 700_000
"""What one tool call or node may write, in bytes: it is kept in the record of the call."""

_current: ContextVar[ToolRun | None] = ContextVar("agentpost_tool_run", default=None)


class ToolRun:
    """The job in which a tool or node runs. Its calls belong to that step: when a crash interrupts
    the step, it runs again, and what it wrote and charged counts once."""

    def __init__(self, job: Job, files: list[File]) -> None:
        self._job = job
        self._written: list[tuple[str, bytes]] = []
        self.files = files
        """The message's attachments and the files of the work."""

    @property
    def message(self) -> Said:
        """The message that started the job."""
        return self._job.message

    @property
    def response_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the output that the caller wants, if any."""
        return self._job.response_schema

    async def progress(self, step: str) -> None:
        """Tell the user what is going on, at once."""
        await self._job.progress(step)

    async def charge(self, amount: float, note: str = "") -> None:
        """Charge credits, together with the record of this tool call or node."""
        await self._job.charge(amount, note)

    def delta(self, text: str) -> None:
        """Show a piece of the result while it is written."""
        self._job.delta(text)

    def write(self, path: str, data: bytes | str | Path) -> None:
        """Write a file of the work once this tool call or node is recorded.

        Raises `ValueError` for a path that no file may have, for text with half of a surrogate
        pair, and when all of its files have more than `TOOL_FILES_BYTES_MAX` bytes.
        """
        check_path(path)
        if isinstance(data, Path):
            data = data.read_bytes()
        self._written.append((path, data.encode() if isinstance(data, str) else data))
        size = sum(len(contents) for _, contents in self._written)
        if size > TOOL_FILES_BYTES_MAX:
            raise ValueError(
                f"one tool call may write {TOOL_FILES_BYTES_MAX} bytes, these are {size}; "
                "write larger files from your own job (docs/agents.md)"
            )

    def recorded_files(self) -> list[Json]:
        """The files as they are recorded."""
        return [[path, base64.b64encode(data).decode()] for path, data in self._written]


def current() -> ToolRun:
    """The job that runs this tool or node; raises `RuntimeError` outside of one."""
    run = _current.get()
    if run is None:
        raise RuntimeError("current() is only there in a tool or node that agentpost runs")
    return run


def current_job() -> Job:
    """The job itself, for a tool that is no step: each of its calls on the job is recorded. In a
    step they are refused; raises `RuntimeError` elsewhere."""
    return current()._job


def enter(run: ToolRun) -> None:
    """This task runs a tool of that job from here on."""
    _current.set(run)
