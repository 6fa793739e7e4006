"""What became of a message, in plain values to assert on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agentpost.context import AppContext
from agentpost.contract.shape import loads
from agentpost.db.session import Tx
from agentpost.messages import rows as message_rows
from agentpost.messages.shapes import MessageShape
from agentpost.record import journal_rows
from agentpost.record.events import EntryType
from agentpost.record.journal_rules import name_of
from agentpost.record.records import EntryRecord, Snapshot


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """A job: ``text`` is its result or why it failed, ``calls`` are its recorded calls in order,
    such as ``step orders:book``. ``error``: see `Outcome`."""

    title: str
    status: str
    reason: str | None
    text: str | None
    output: Any
    calls: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A message as its caller sees it, and why it failed as its author wants to see it.

    ``files`` are those it shows, by their paths; ``progress`` are the steps that its jobs reported,
    in order; ``calls`` are the recorded calls of its turn. ``error`` is the exception that ended
    the turn or the last of its jobs to fail, with its line in the agent's code
    (``KeyError: 'total' (orders.py, line 12, in handle)``); None when nothing raised, and for a
    `JobFailed`, whose text is ``text``.
    """

    id: str
    status: str
    reason: str | None
    reply: str | None
    question: str | None
    choices: tuple[str, ...] | None
    output: Any
    credits_used: float
    notes: tuple[str, ...]
    jobs: tuple[JobOutcome, ...]
    progress: tuple[str, ...]
    calls: tuple[str, ...]
    error: str | None
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def text(self) -> str | None:
        """The result of its last job; without jobs, the reply."""
        return self.jobs[-1].text if self.jobs else self.reply


async def outcome(ctx: AppContext, message_id: str, errors: Mapping[str, str | None]) -> Outcome:
    """What became of a message. ``errors``: the exceptions of the turns and jobs that have ended,
    by their ids."""
    snapshot, entries, calls = await ctx.db.read(partial(_read, message_id=message_id))
    message: dict[str, Any] = loads(MessageShape.of(snapshot, ctx.links).json())
    jobs = tuple(
        JobOutcome(
            title=job["title"],
            status=job["status"],
            reason=job["reason"],
            text=job["text"],
            output=job.get("output"),
            calls=calls[job["job_id"]],
            error=errors.get(job["job_id"]),
        )
        for job in message["jobs"]
    )
    job_errors = (job.error for job in reversed(jobs) if job.error is not None)
    choices = (message.get("answer_format") or {}).get("choices")
    return Outcome(
        id=message_id,
        status=message["status"],
        reason=message["reason"],
        reply=message["reply"],
        question=message["question"],
        choices=None if choices is None else tuple(choices),
        output=message.get("output"),
        credits_used=message["credits_used"],
        notes=tuple(message["notes"]),
        jobs=jobs,
        progress=tuple(
            loads(entry.body_json)["step"] for entry in entries if entry.type == EntryType.PROGRESS
        ),
        calls=calls[message_id],
        error=errors.get(message_id) or next(job_errors, None),
        files={
            file.path: (await ctx.storage.local(file.blob)).read_bytes() for file in snapshot.files
        },
    )


def _read(
    tx: Tx, message_id: str
) -> tuple[Snapshot, list[EntryRecord], dict[str, tuple[str, ...]]]:
    """The message, its log and the names of all recorded calls, of one transaction."""
    message = message_rows.get(tx, message_id)
    assert message is not None, "it was sent by the test"
    snapshot = message_rows.snapshot(tx, message)
    calls = {
        owner: tuple(name_of(c.summary) for n, c in journal_rows.all_(tx, owner).items() if n > 0)
        for owner in (message_id, *(link.job.id for link in snapshot.links))
    }
    return snapshot, message_rows.entries_after(tx, message_id, 0, 1_000), calls
