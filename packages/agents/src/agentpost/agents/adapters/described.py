"""Turns, jobs and files as JSON, for agents that are no Python of this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from agentpost.agents.base import File, Job, Json, Said, Turn
from agentpost.extraction import Unreadable

TEXT_CHARACTERS_MAX: Final = 20_000
"""How much of a file's text is sent, in characters."""
_FILE: Final = ("id", "name", "content_type", "kind", "size", "label")
_RUNNING: Final = ("job_id", "work_id", "title", "step")
_WORK: Final = ("work_id", "title", "text", "question", "state")
_TURN: Final = ("metadata", "conversation", "account", "credits", "state", "response_schema")
_JOB: Final = ("id", "work_id", "title", "state", "response_schema")


async def described_turn(turn: Turn, *, texts: bool = False) -> dict[str, Json]:
    """Everything a turn shows; the message's files have local paths, or their ``texts``."""
    attachments = turn.message.files
    files = [await _file_text(f) for f in attachments] if texts else await local_files(attachments)
    return {
        **_fields(turn, _TURN),
        "message": {**_described_entry(turn.message), "files": files},
        "history": [_described_entry(entry) for entry in turn.history],
        "running": [_fields(running, _RUNNING) for running in turn.running],
        "works": [
            {**_fields(work, _WORK), "files": [described_file(file) for file in work.files]}
            for work in turn.works
        ],
        "notes": list(turn.notes),
        "answer": None if turn.answer is None else asdict(turn.answer),
    }


def described_job(job: Job) -> dict[str, Json]:
    """A job, without its files."""
    return {**_fields(job, _JOB), "message": _described_entry(job.message)}


def described_file(file: File) -> dict[str, Json]:
    """A file, without its bytes."""
    return _fields(file, _FILE)


async def local_file(file: File) -> Json:
    """A file with a local path to read it from."""
    return {**described_file(file), "path": str(await file.path())}


async def local_files(files: Sequence[File]) -> list[Json]:
    """Files with local paths to read them from."""
    return [await local_file(file) for file in files]


async def _file_text(file: File) -> Json:
    try:
        text = (await file.text())[:TEXT_CHARACTERS_MAX]
    except Unreadable:
        text = None
    return {**described_file(file), "text": text}


def _described_entry(entry: Said) -> dict[str, Json]:
    files: list[Json] = [described_file(file) for file in entry.files]
    return {**_fields(entry, ("role", "text", "at", "message_id")), "files": files}


def _fields(thing: object, names: Sequence[str]) -> dict[str, Json]:
    return {name: getattr(thing, name) for name in names}
