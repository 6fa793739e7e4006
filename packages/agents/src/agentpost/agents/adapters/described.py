"""Turns, jobs and files as JSON, for agents that are no Python of this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from agentpost.agents.base import File, Job, Json, Said, Turn, WorkRef
from agentpost.extraction import Unreadable

TEXT_CHARACTERS_MAX: Final = 20_000
"""How much of a file's text is sent, in characters."""


async def described_turn(turn: Turn, *, texts: bool = False) -> dict[str, Json]:
    """Everything a turn shows; the message's files have local paths, or their ``texts``."""
    attachments = turn.message.files
    files = await _texts(attachments) if texts else await local_files(attachments)
    return {
        "message": {**_describe_entry(turn.message), "files": files},
        "metadata": dict(turn.metadata),
        "conversation": turn.conversation,
        "account": turn.account,
        "history": [_describe_entry(entry) for entry in turn.history],
        "running": [
            {"job_id": r.job_id, "work_id": r.work_id, "title": r.title, "step": r.step}
            for r in turn.running
        ],
        "works": [_work(work) for work in turn.works],
        "notes": list(turn.notes),
        "credits": turn.credits,
        "state": turn.state,
        "answer": None if turn.answer is None else asdict(turn.answer),
        "response_schema": turn.response_schema,
    }


def described_job(job: Job) -> dict[str, Json]:
    """A job, without its files."""
    return {
        "id": job.id,
        "work_id": job.work_id,
        "title": job.title,
        "message": _describe_entry(job.message),
        "state": job.state,
        "response_schema": job.response_schema,
    }


def described_file(file: File) -> dict[str, Json]:
    """A file, without its bytes."""
    return {
        "id": file.id,
        "name": file.name,
        "content_type": file.content_type,
        "kind": file.kind,
        "size": file.size,
        "label": file.label,
    }


async def local_files(files: Sequence[File]) -> list[Json]:
    """Files with local paths to read them from."""
    return [{**described_file(file), "path": str(await file.path())} for file in files]


async def _texts(files: Sequence[File]) -> list[Json]:
    return [{**described_file(file), "text": await _text(file)} for file in files]


async def _text(file: File) -> str | None:
    try:
        return (await file.text())[:TEXT_CHARACTERS_MAX]
    except Unreadable:
        return None


def _describe_entry(entry: Said) -> dict[str, Json]:
    files: list[Json] = [described_file(file) for file in entry.files]
    description: dict[str, Json] = {"role": entry.role, "text": entry.text, "files": files}
    return {**description, "at": entry.at, "message_id": entry.message_id}


def _work(work: WorkRef) -> dict[str, Any]:
    return {
        "work_id": work.work_id,
        "title": work.title,
        "text": work.text,
        "files": [described_file(file) for file in work.files],
        "question": work.question,
        "state": work.state,
    }
