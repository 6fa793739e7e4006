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
    attached = turn.message.files
    files = await _texts(attached) if texts else await local_files(attached)
    return {
        "message": {**_said(turn.message), "files": files},
        "metadata": dict(turn.metadata),
        "conversation": turn.conversation,
        "account": turn.account,
        "history": [_said(said) for said in turn.history],
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
        "message": _said(job.message),
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


def _said(said: Said) -> dict[str, Json]:
    files: list[Json] = [described_file(file) for file in said.files]
    made: dict[str, Json] = {"role": said.role, "text": said.text, "files": files}
    return {**made, "at": said.at, "message_id": said.message_id}


def _work(work: WorkRef) -> dict[str, Any]:
    return {
        "work_id": work.work_id,
        "title": work.title,
        "text": work.text,
        "files": [described_file(file) for file in work.files],
        "question": work.question,
        "state": work.state,
    }
