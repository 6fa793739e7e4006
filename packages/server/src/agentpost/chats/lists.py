"""Chats in the web app: the list, and one conversation in pages.

Each is read in one transaction, so a page never contradicts itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.accounts.overview import WorkState, state_of
from agentpost.chats import exchanges, rows as chat_rows
from agentpost.chats.exchanges import Exchange
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.answers import AnswerFormat
from agentpost.domain.errors import not_found
from agentpost.files import views
from agentpost.files.views import FileArrangement
from agentpost.jobs import rows as job_rows, work_rows
from agentpost.jobs.rules import JobState
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import OPEN_TURNS, TurnState
from agentpost.questions import answers
from agentpost.record import conversation_titles, history_rows
from agentpost.record.records import ConversationRecord, MessageRecord, WorkRecord
from agentpost.transactions import read_transaction

LIST_PAGE: Final = 30
TURNS_PAGE: Final = 20
_LOOKED_AT: Final = 300
_NOT_BEGUN_SHOWN: Final = 10
_LAST: Final = 2**31 - 1
_WORKS_DELETED_MAX: Final = 200
_OPEN: Final = (WorkState.RUNNING, WorkState.QUEUED)
_PREVIEW_CHARACTERS: Final = 600
_HIGHEST_ID: Final = f"{ids.WORK}{'z' * 32}"  # above every id, whatever way the database sorts


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A chat in the list: a work, or a conversation that has none (then ``id`` is its id).
    ``is_own``: it began in the app, and the line stands for the whole conversation. ``author``: who
    began it, see `exchanges.Exchange`; ``begun_by``: see `Conversation`."""

    id: str
    conversation_id: str
    is_own: bool
    title: str
    preview: str
    state: WorkState
    at: int
    author: str
    begun_by: str


@dataclass(frozen=True, slots=True)
class Left:
    """A work none of whose messages is shown, since they are kept for less time than results."""

    steps: list[str]
    files: FileArrangement
    has_failed: bool


@dataclass(frozen=True, slots=True)
class Conversation:
    """A page of a conversation, oldest message first.

    ``work``: the one it was opened by. ``older`` and ``newer`` are turn numbers to page with.
    ``question`` is what the agent waits for, whichever page is shown. ``is_own``: it began in the
    app; ``begun_by``: the id of the user who began it there, "" when that is not known.
    """

    id: str
    work: WorkRecord | None
    state: WorkState | None
    title: str
    exchanges: list[Exchange]
    older: int | None
    newer: int | None
    question: str | None
    asking: tuple[str, AnswerFormat] | None  # the message, and what its answer has to be
    asked_by: str
    is_own: bool
    begun_by: str
    can_be_deleted: bool
    left: Left | None


# --- reading --------------------------------------------------------------------------------------
@read_transaction
def list_(
    tx: Tx, ctx: AppContext, account_id: str, search: str = "", before: str = ""
) -> tuple[list[ChatLine], str | None]:
    """The account's chats, newest first, and where the next page begins, None at the end;
    ``search``: only works whose title or result has it."""
    start = before or _HIGHEST_ID
    if search:
        works, older = chat_rows.found_works(tx, account_id, search, start, LIST_PAGE)
    else:
        works = chat_rows.works(tx, account_id, start, LIST_PAGE + 1)
        older = works[LIST_PAGE - 1].id if len(works) > LIST_PAGE else None
        works = works[:LIST_PAGE]
    lines, chat_ids = [], set()
    for work in works:
        if work.conversation_id in chat_ids:
            continue
        chat = chat_rows.conversation(tx, work.conversation_id, account_id)
        assert chat is not None, "a work's conversation is of its account"
        lines.append(_work_line(tx, chat, work))
        if _is_own(chat):
            chat_ids.add(chat.id)
    if not search and not before:
        lines += _lines_without_work(tx, ctx, account_id)
        lines.sort(key=lambda line: line.at, reverse=True)
    return lines, older


def _work_line(tx: Tx, chat: ConversationRecord, work: WorkRecord) -> ChatLine:
    state = state_of(tx, work, job_rows.open_in_work(tx, work.id))
    preview = work.question if state is WorkState.ASKING and work.question else work.text
    at = work.updated_at
    if _is_own(chat) and state not in _OPEN:
        for later in history_rows.messages_before(tx, work.conversation_id, _LAST, 1):
            if later.created_at > at:  # it came after what the work last did
                state, preview = _message_state(later), later.reply or preview
                at = later.created_at
    return _line(tx, chat, work, preview, state, at)


def _line(
    tx: Tx,
    chat: ConversationRecord,
    work: WorkRecord | None,
    preview: str,
    state: WorkState,
    at: int,
) -> ChatLine:
    is_own, user_id = _is_own(chat), begun_by(chat)
    return ChatLine(
        id=work.id if work else chat.id,
        conversation_id=chat.id,
        is_own=is_own,
        title=_title(tx, chat.id, is_own or work is None, work),
        preview=preview[:_PREVIEW_CHARACTERS],
        state=state,
        at=at,
        author=exchanges.author(tx, chat.account_id, chat.owner, user_id),
        begun_by=user_id,
    )


def _is_own(chat: ConversationRecord) -> bool:
    """Whether it began in the app."""
    return chat.owner == chat.account_id


def _lines_without_work(tx: Tx, ctx: AppContext, account_id: str) -> list[ChatLine]:
    newest: dict[str, str] = {}
    for message_id, conversation_id in chat_rows.newest(
        tx, account_id, ctx.clock.now(), _LOOKED_AT
    ):
        newest.setdefault(conversation_id, message_id)
    lines: list[ChatLine] = []
    for conversation_id, message_id in newest.items():
        chat = chat_rows.conversation(tx, conversation_id, account_id)
        message = message_rows.get(tx, message_id)
        if len(lines) == LIST_PAGE:
            break
        if chat is not None and not chat.works and message is not None:
            state, at = _message_state(message), message.created_at
            lines.append(_line(tx, chat, None, message.reply or "", state, at))
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
    """A page of a chat, by the id of a work or a conversation; raises ``not_found``. A work's page
    is the newest one that shows something of the work."""
    chat, work = find(tx, account_id, chat_id)
    if before is None and work is not None:
        last = chat_rows.last_turn(tx, work.id)
        if last is not None and chat.turns - last >= TURNS_PAGE:
            before = last + TURNS_PAGE // 2
    start = _LAST if before is None else before
    read = history_rows.messages_before(tx, chat.id, start, TURNS_PAGE + 1)
    more, page = len(read) > TURNS_PAGE, read[:TURNS_PAGE]
    is_newest = start > chat.turns
    oldest = page[-1].created_at if more and page else 0
    waiting = chat_rows.not_begun(tx, chat.id, _NOT_BEGUN_SHOWN) if is_newest else []
    now = ctx.clock.now()
    visible = [m for m in (*page, *waiting) if m.expires_at > now and m.created_at >= oldest]
    visible.sort(key=lambda m: (m.created_at, _LAST if m.turn_no is None else m.turn_no, m.id))
    job_ids: set[str] = set()
    exchange_list = [exchanges.exchange(tx, account_id, m, job_ids) for m in reversed(visible)]
    state = state_of(tx, work, job_rows.open_in_work(tx, work.id)) if work else None
    last_page = page if is_newest else history_rows.messages_before(tx, chat.id, _LAST, 1)
    question = last_page[0].question if last_page else None
    asking = answers.asked_by(tx, last_page[0]) if question else None
    if question is None and not visible and state is WorkState.ASKING and work is not None:
        question = work.question
    return Conversation(
        id=chat.id,
        work=work,
        state=state,
        title=_title(tx, chat.id, _is_own(chat) or work is None, work),
        exchanges=list(reversed(exchange_list)),
        older=page[-1].turn_no if more else None,
        newer=None if is_newest else start + TURNS_PAGE,
        question=question,
        asking=asking,
        asked_by=visible[-1].id if visible else chat.id,
        is_own=_is_own(chat),
        begun_by=begun_by(chat),
        can_be_deleted=bool(works_to_delete(tx, chat, work)),
        left=_left(tx, work, exchange_list),
    )


def begun_by(conversation: ConversationRecord) -> str:
    """The id of the user who began it in the app, "" when it began elsewhere or before that was
    kept."""
    user_id, separator, _ = conversation.name.partition(":")
    return user_id if _is_own(conversation) and separator else ""


def _left(tx: Tx, work: WorkRecord | None, exchange_list: Sequence[Exchange]) -> Left | None:
    work_ids = {card.job.work_id for each in exchange_list for card in each.cards}
    if work is None or work.id in work_ids:
        return None
    jobs = job_rows.open_in_work(tx, work.id)
    steps = [job.step for job in jobs if job.step and job.state is not JobState.QUEUED]
    failed = state_of(tx, work, jobs) is WorkState.FAILED
    return Left(steps, views.arrange(work_rows.files(tx, work.id)), failed)


def works_to_delete(tx: Tx, chat: ConversationRecord, work: WorkRecord | None) -> list[str]:
    """The works that go when a chat is deleted: of one that began in the app all, else the one."""
    if _is_own(chat):
        works = work_rows.of_conversation(tx, chat.id, _WORKS_DELETED_MAX)
        return [each.id for each in works]
    return [work.id] if work is not None else []


def find(tx: Tx, account_id: str, chat_id: str) -> tuple[ConversationRecord, WorkRecord | None]:
    """The conversation of a chat, and the work when the chat's id is one; raises ``not_found``."""
    work = None
    if ids.is_id(ids.WORK, chat_id):
        work = work_rows.get(tx, chat_id, account_id)
        chat_id = work.conversation_id if work is not None else ""
    chat = None
    if ids.is_id(ids.CONVERSATION, chat_id):
        chat = chat_rows.conversation(tx, chat_id, account_id)
    if chat is None:
        raise not_found("chat")
    return chat, work


def _title(tx: Tx, conversation_id: str, by_message: bool, work: WorkRecord | None) -> str:
    """The first message of the conversation, as long as it is kept, or the work's title."""
    first = conversation_titles.first(tx, conversation_id) if by_message else None
    if first is not None and (title := conversation_titles.of(first)):
        return title
    if work is not None:
        return work.title or "Untitled"
    return "(files only)" if first else "New chat"
