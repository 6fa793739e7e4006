"""Chats in the web app: the list, and one conversation in pages.

Each is read in one transaction, so a page never contradicts itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.db import chats, history
from agentpost.db import jobs as job_rows
from agentpost.db import messages as message_rows
from agentpost.db import works as work_rows
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.errors import not_found
from agentpost.domain.job import VIEWS, JobKind, JobRole, JobState, JobStatus
from agentpost.domain.message import OPEN_TURNS, TURN_FAILURE_TEXTS, TurnState
from agentpost.domain.records import (
    AttachmentRecord,
    ConversationRecord,
    FileRecord,
    JobRecord,
    MessageRecord,
    WorkRecord,
)
from agentpost.services.context import AppContext
from agentpost.services.explaining import EXPLANATIONS, Explanation
from agentpost.services.overview import WorkState, state_of
from agentpost.services.transactions import read_transaction

LIST_PAGE: Final = 30
TURNS_PAGE: Final = 20
_LOOKED_AT: Final = 300
_STEPS_SHOWN: Final = 200
_NOT_BEGUN_SHOWN: Final = 10
_LAST: Final = 2**31 - 1
_WORKS_DELETED_MAX: Final = 200
_SECOND_TURN: Final = 2
_TITLE_CHARACTERS: Final = 120
_HIGHEST_ID: Final = f"{ids.WORK}{'z' * 32}"  # above every id, whatever way the database sorts


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A chat in the list: a work, or a conversation that has none (then ``id`` is its id).

    ``is_own``: it began in the app, and the line stands for the whole conversation.
    """

    id: str
    conversation_id: str
    is_own: bool
    title: str
    preview: str
    state: WorkState
    at: int


@dataclass(frozen=True, slots=True)
class ChatList:
    """A page of the list; ``older`` is where the next one begins, None at the end."""

    lines: list[ChatLine]
    older: str | None


@dataclass(frozen=True, slots=True)
class JobCard:
    """A job as a person sees it. ``gone``: its work was deleted. Times in microseconds."""

    job: JobRecord
    state: WorkState
    is_follow_up: bool
    is_latest: bool
    gone: bool
    steps: list[str]
    files: list[FileRecord]
    explanation: Explanation | None
    credits: float

    @property
    def is_open(self) -> bool:
        """Whether it runs or waits, and can be stopped."""
        return self.state in (WorkState.RUNNING, WorkState.QUEUED)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message with what became of it."""

    message: MessageRecord
    attachments: list[AttachmentRecord]
    notes: list[str]
    cards: list[JobCard]
    files: list[FileRecord]
    is_waiting: bool
    failure: Explanation | None


@dataclass(frozen=True, slots=True)
class Left:
    """A work none of whose messages is shown, since they are kept for less time than results."""

    steps: list[str]
    files: list[FileRecord]
    has_failed: bool


@dataclass(frozen=True, slots=True)
class Conversation:
    """A page of a conversation, oldest message first.

    ``work``: the one it was opened by. ``older`` and ``newer`` are turn numbers to page with.
    ``question`` is what the agent waits for, whichever page is shown. ``is_own``: it began in the
    app.
    """

    id: str
    work: WorkRecord | None
    state: WorkState | None
    title: str
    exchanges: list[Exchange]
    older: int | None
    newer: int | None
    question: str | None
    asked_by: str
    is_own: bool
    can_be_deleted: bool
    left: Left | None


# --- reading --------------------------------------------------------------------------------------
@read_transaction
def list_(tx: Tx, ctx: AppContext, account_id: str, search: str = "", before: str = "") -> ChatList:
    """The account's chats, newest first; ``search``: only works whose title or result has it."""
    start = before or _HIGHEST_ID
    if search:
        works = chats.found_works(tx, account_id, search, start, LIST_PAGE + 1)
    else:
        works = chats.works(tx, account_id, start, LIST_PAGE + 1)
    more, works = len(works) > LIST_PAGE, works[:LIST_PAGE]
    conversations = {work.conversation_id for work in works}
    own = {each for each in conversations if _is_own(tx, account_id, each)}
    lines, shown = [], set()
    for work in works:
        if work.conversation_id not in shown:
            lines.append(_work_line(tx, work, work.conversation_id in own))
            shown |= own & {work.conversation_id}
    if not search and not before:
        lines += _lines_without_work(tx, ctx, account_id)
        lines.sort(key=lambda line: line.at, reverse=True)
    return ChatList(lines, works[-1].id if more else None)


def _work_line(tx: Tx, work: WorkRecord, is_own: bool) -> ChatLine:
    state = state_of(tx, work, job_rows.open_in_work(tx, work.id))
    preview = work.question if state is WorkState.ASKING and work.question else work.text
    return ChatLine(
        id=work.id,
        conversation_id=work.conversation_id,
        is_own=is_own,
        title=_title(tx, work.conversation_id, is_own, work),
        preview=preview[:200],
        state=state,
        at=work.updated_at,
    )


def _is_own(tx: Tx, account_id: str, conversation_id: str) -> bool:
    found = chats.conversation(tx, conversation_id, account_id)
    return found is not None and found.owner == account_id


def _lines_without_work(tx: Tx, ctx: AppContext, account_id: str) -> list[ChatLine]:
    newest: dict[str, str] = {}
    for message_id, conversation_id in chats.newest(tx, account_id, ctx.clock.now(), _LOOKED_AT):
        newest.setdefault(conversation_id, message_id)
    lines: list[ChatLine] = []
    for conversation_id, message_id in newest.items():
        found = chats.conversation(tx, conversation_id, account_id)
        message = message_rows.get(tx, message_id)
        if len(lines) == LIST_PAGE:
            break
        if found is not None and not found.works and message is not None:
            title = _title(tx, conversation_id, True, None)
            line = ChatLine(
                id=conversation_id,
                conversation_id=conversation_id,
                is_own=message.key_id == account_id,
                title=title,
                preview=(message.reply or "")[:200],
                state=_message_state(message),
                at=message.created_at,
            )
            lines.append(line)
    return lines


def _message_state(message: MessageRecord) -> WorkState:
    if message.turn_state in OPEN_TURNS:
        return WorkState.RUNNING
    if message.turn_state in (TurnState.FAILED, TurnState.BUSY):
        return WorkState.FAILED
    return WorkState.ASKING if message.question else WorkState.DONE


@read_transaction
def conversation(
    tx: Tx, ctx: AppContext, account_id: str, chat_id: str, before: int | None = None
) -> Conversation:
    """A page of a chat, by the id of a work or a conversation; raises ``not_found``.

    A work's page is the newest one that shows something of the work.
    """
    found, work = find(tx, account_id, chat_id)
    if before is None and work is not None:
        last = chats.last_turn(tx, work.id)
        if last is not None and found.turns - last >= TURNS_PAGE:
            before = last + TURNS_PAGE // 2
    start = _LAST if before is None else before
    read = chats.turns(tx, found.id, start, TURNS_PAGE + 1)
    more, page = len(read) > TURNS_PAGE, read[:TURNS_PAGE]
    is_newest = start > found.turns
    oldest = page[-1].created_at if more and page else 0
    waiting = chats.not_begun(tx, found.id, _NOT_BEGUN_SHOWN) if is_newest else []
    now = ctx.clock.now()
    shown = [m for m in (*page, *waiting) if m.expires_at > now and m.created_at >= oldest]
    shown.sort(key=lambda m: (m.created_at, _LAST if m.turn_no is None else m.turn_no, m.id))
    seen: set[str] = set()
    exchanges = [_exchange(tx, account_id, m, seen) for m in reversed(shown)]
    state = state_of(tx, work, job_rows.open_in_work(tx, work.id)) if work else None
    last_page = page if is_newest else chats.turns(tx, found.id, _LAST, 1)
    question = last_page[0].question if last_page else None
    if question is None and not shown and state is WorkState.ASKING and work is not None:
        question = work.question
    return Conversation(
        id=found.id,
        work=work,
        state=state,
        title=_title(tx, found.id, found.owner == account_id or work is None, work),
        exchanges=list(reversed(exchanges)),
        older=page[-1].turn_no if more else None,
        newer=None if is_newest else start + TURNS_PAGE,
        question=question,
        asked_by=shown[-1].id if shown else found.id,
        is_own=found.owner == account_id,
        can_be_deleted=bool(doomed(tx, account_id, found, work)),
        left=_left(tx, work, exchanges),
    )


def _left(tx: Tx, work: WorkRecord | None, exchanges: Sequence[Exchange]) -> Left | None:
    shown = {card.job.work_id for each in exchanges for card in each.cards}
    if work is None or work.id in shown:
        return None
    jobs = job_rows.open_in_work(tx, work.id)
    steps = [job.step for job in jobs if job.step and job.state is not JobState.QUEUED]
    failed = state_of(tx, work, jobs) is WorkState.FAILED
    return Left(steps, work_rows.files(tx, work.id), failed)


def doomed(
    tx: Tx, account_id: str, found: ConversationRecord, work: WorkRecord | None
) -> list[str]:
    """The works that go when a chat is deleted: of one that began in the app all, else the one."""
    if found.owner == account_id:
        works = work_rows.of_conversation(tx, found.id, _WORKS_DELETED_MAX)
        return [each.id for each in works]
    return [work.id] if work is not None else []


def find(tx: Tx, account_id: str, chat_id: str) -> tuple[ConversationRecord, WorkRecord | None]:
    """The conversation of a chat, and the work when the chat's id is one; raises ``not_found``."""
    work = None
    if ids.is_id(ids.WORK, chat_id):
        work = work_rows.get(tx, chat_id, account_id)
        chat_id = work.conversation_id if work is not None else ""
    found = None
    if ids.is_id(ids.CONVERSATION, chat_id):
        found = chats.conversation(tx, chat_id, account_id)
    if found is None:
        raise not_found("chat")
    return found, work


def _title(tx: Tx, conversation_id: str, by_message: bool, work: WorkRecord | None) -> str:
    """The first message of the conversation, as long as it is kept, or the work's title."""
    first = chats.turns(tx, conversation_id, _SECOND_TURN, 1) if by_message else []
    if first and first[0].text:
        return first[0].text.splitlines()[0][:_TITLE_CHARACTERS]
    if work is not None:
        return work.title or "Untitled"
    return "(files only)" if first else "New chat"


def _exchange(tx: Tx, account_id: str, message: MessageRecord, seen: set[str]) -> Exchange:
    """``seen``: the jobs of later messages; a job is shown in full where it was mentioned last."""
    snapshot = message_rows.snapshot(tx, message)
    steps = _steps(tx, message) if snapshot.links else {}
    cards = []
    for link in snapshot.links:
        files = [file for file in snapshot.files if file.job_id == link.job.id]
        follow_up = link.role is JobRole.FOLLOW_UP
        latest = link.job.id not in seen
        seen.add(link.job.id)
        cards.append(_card(tx, account_id, link.job, steps, files, follow_up, latest))
    failure = None
    if message.turn_state is TurnState.BUSY or message.turn_state is TurnState.FAILED:
        failure = _failure(message)
    return Exchange(
        message=message,
        attachments=history.attachments(tx, message.id) if message.attachments else [],
        notes=json.loads(message.notes_json),
        cards=cards,
        files=[file for file in snapshot.files if file.job_id is None],
        is_waiting=message.turn_state in OPEN_TURNS,
        failure=failure,
    )


def _failure(message: MessageRecord) -> Explanation:
    assert message.reason is not None
    known = EXPLANATIONS[message.reason]
    text = message.reply or ""
    what = text if text in TURN_FAILURE_TEXTS.values() else known.what
    return Explanation(what, known.advice)


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


def _card(
    tx: Tx,
    account_id: str,
    job: JobRecord,
    steps: dict[str, list[str]],
    files: list[FileRecord],
    is_follow_up: bool,
    is_latest: bool,
) -> JobCard:
    reason = VIEWS[job.state].reason or job.reason
    gone = job.kind is not JobKind.REFUSAL and (work_rows.get(tx, job.work_id, account_id) is None)
    return JobCard(
        job=job,
        state=(
            WorkState.STOPPED
            if job.state is JobState.REFUSED
            else _JOB_STATES[VIEWS[job.state].status]
        ),
        is_follow_up=is_follow_up,
        is_latest=is_latest,
        gone=gone,
        steps=steps.get(job.id, []),
        files=[] if gone else files,
        explanation=EXPLANATIONS[reason] if reason else None,
        credits=to_credits(job.credits_used),
    )


_JOB_STATES: Final = {
    JobStatus.RUNNING: WorkState.RUNNING,
    JobStatus.COMPLETED: WorkState.DONE,
    JobStatus.FAILED: WorkState.FAILED,
    JobStatus.CANCELLED: WorkState.STOPPED,
    JobStatus.BLOCKED: WorkState.QUEUED,
    JobStatus.EXPIRED: WorkState.EXPIRED,
}
