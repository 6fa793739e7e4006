"""A message of a chat with what became of it, as a page shows it.

Each is read within the transaction of its page.
"""

import json
from dataclasses import dataclass
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.accounts.overview import WorkState
from agentpost.chats import rows as chat_rows
from agentpost.db.session import Tx
from agentpost.domain.credits import to_credits
from agentpost.explain import timeline_rows
from agentpost.explain.reasons import (
    LASTING_FAILURE,
    Explanation,
    explain,
    explain_turn,
    is_recoverable,
)
from agentpost.files import views
from agentpost.files.views import FileArrangement
from agentpost.jobs import rows as job_rows, work_rows
from agentpost.jobs.rules import VIEWS, JobKind, JobRole, JobState, JobStatus
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import OPEN_TURNS, TurnState
from agentpost.record import history_rows
from agentpost.record.records import (
    AttachmentRecord,
    FileRecord,
    JobRecord,
    MessageRecord,
    Snapshot,
)
from agentpost.users import rows as user_rows

_STEPS_SHOWN: Final = 200
_GONE: Final = "a user who was removed"
_UNNAMED_KEY: Final = "an API key"


@dataclass(frozen=True, slots=True)
class JobCard:
    """A job as a person sees it. ``gone``: its work was deleted; ``is_superseded``: its work has a
    newer job; ``is_lasting``: the same request would fail again. Times in microseconds."""

    job: JobRecord
    state: WorkState
    is_follow_up: bool
    is_latest: bool
    gone: bool
    is_superseded: bool
    steps: list[str]
    files: FileArrangement
    explanation: Explanation | None
    credits: float
    is_lasting: bool

    @property
    def can_recover(self) -> bool:
        """Whether a recover would change something."""
        return is_recoverable(self.job) and not self.gone

    @property
    def can_try_again(self) -> bool:
        """Whether it began and came to no result, may come to one, and nothing was made in its
        place since."""
        is_over = self.state in (WorkState.STOPPED, WorkState.FAILED)
        began = self.job.state is not JobState.REFUSED
        return is_over and began and not (self.gone or self.is_superseded or self.is_lasting)

    @property
    def can_be_sent_again(self) -> bool:
        """Whether it never began, cannot succeed as it is, or nothing is known of its end: only its
        message can be sent again."""
        is_refused = self.job.state is JobState.REFUSED
        unknown = self.state is WorkState.EXPIRED and not self.can_recover
        return (is_refused or unknown or self.is_lasting) and not (self.gone or self.is_superseded)

    @property
    def is_open(self) -> bool:
        """Whether it runs or waits, and can be stopped."""
        return self.state in (WorkState.RUNNING, WorkState.QUEUED)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message with what became of it. ``author``: the e-mail address of who wrote it in the app,
    the name of the API key that sent it, or "" when that is not known. ``attachments``: each with
    the file, None before it was fetched."""

    message: MessageRecord
    author: str
    attachments: list[tuple[AttachmentRecord, FileRecord | None]]
    notes: list[str]
    cards: list[JobCard]
    files: FileArrangement
    is_waiting: bool
    failure: Explanation | None


def exchange(tx: Tx, account_id: str, message: MessageRecord, job_ids: set[str]) -> Exchange:
    """The message with its jobs. ``job_ids`` are the jobs of later messages: a job is shown in full
    where it was mentioned last."""
    snapshot = message_rows.snapshot(tx, message)
    cards = _cards(tx, account_id, snapshot, job_ids)
    attachments = history_rows.attachments(tx, message.id) if message.attachments else []
    failure = None
    if message.turn_state is TurnState.BUSY or message.turn_state is TurnState.FAILED:
        failure = _failure(tx, message)
    return Exchange(
        message=message,
        author=author(tx, account_id, message.key_id, message.user_id or ""),
        attachments=[(each, views.attachment_as_file(each, account_id)) for each in attachments],
        notes=json.loads(message.notes_json),
        cards=cards,
        files=views.arrange([f for f in snapshot.files if f.job_id is None], message.text),
        is_waiting=message.turn_state in OPEN_TURNS,
        failure=failure,
    )


def author(tx: Tx, account_id: str, key_id: str, user_id: str) -> str:
    """Who sent something: see `Exchange`. ``key_id`` is the account's id for the app."""
    if key_id != account_id:
        key = account_rows.key_by_id(tx, key_id)
        return key.name if key is not None and key.name else _UNNAMED_KEY
    if not user_id:
        return ""
    user = user_rows.get(tx, user_id)
    return user.address if user is not None and user.account_id == account_id else _GONE


def _failure(tx: Tx, message: MessageRecord) -> Explanation:
    assert message.reason is not None
    body = (
        chat_rows.turn_failure(tx, message.id) if message.turn_state is TurnState.FAILED else None
    )
    return explain_turn(message.reason, json.loads(body).get("reason") if body else None)


def _steps(tx: Tx, message: MessageRecord) -> dict[str, list[str]]:
    """The steps of each job in a message's log, oldest first; of a long log its end."""
    after = max(message.seq - _STEPS_SHOWN, 0)
    steps: dict[str, list[str]] = {}
    for entry in message_rows.entries_after(tx, message.id, after, _STEPS_SHOWN):
        if entry.type == "progress" and entry.job_id is not None:
            step = json.loads(entry.body_json).get("step")
            if step:
                steps.setdefault(entry.job_id, []).append(step)
    return steps


def _cards(tx: Tx, account_id: str, snapshot: Snapshot, job_ids: set[str]) -> list[JobCard]:
    message, cards = snapshot.message, []
    steps = _steps(tx, message) if snapshot.links else {}
    for job, role in ((link.job, link.role) for link in snapshot.links):
        has_work, lasting = job.kind is not JobKind.REFUSAL, _failed_for_good(tx, job)
        is_gone = has_work and work_rows.get(tx, job.work_id, account_id) is None
        files = [f for f in snapshot.files if f.job_id == job.id and not is_gone]
        card = JobCard(
            job=job,
            state=state_of_job(job),
            is_follow_up=role is JobRole.FOLLOW_UP,
            is_latest=job.id not in job_ids,
            gone=is_gone,
            is_superseded=has_work and job_rows.has_later(tx, job.work_id, job.id),
            steps=steps.get(job.id, []),
            files=views.arrange(files, message.text),
            explanation=LASTING_FAILURE if lasting else explain(job),
            credits=to_credits(job.credits_used),
            is_lasting=lasting,
        )
        job_ids.add(job.id)
        cards.append(card)
    return cards


def state_of_job(job: JobRecord) -> WorkState:
    """How a job stands, as people read it."""
    is_refused = job.state is JobState.REFUSED
    return WorkState.STOPPED if is_refused else _JOB_STATES[VIEWS[job.state].status]


def _failed_for_good(tx: Tx, job: JobRecord) -> bool:
    if job.state is not JobState.FAILED:
        return False
    body = timeline_rows.failure(tx, job.id)
    return body is not None and bool(json.loads(body).get("is_lasting"))


_JOB_STATES: Final = {
    JobStatus.RUNNING: WorkState.RUNNING,
    JobStatus.COMPLETED: WorkState.DONE,
    JobStatus.FAILED: WorkState.FAILED,
    JobStatus.CANCELLED: WorkState.STOPPED,
    JobStatus.BLOCKED: WorkState.QUEUED,
    JobStatus.EXPIRED: WorkState.EXPIRED,
}
