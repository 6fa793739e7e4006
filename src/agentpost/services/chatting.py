"""Writing in the web app, and deleting a chat.

A message sent here belongs to the account itself, as those of the API belong to their key: it goes
the same way (`services.sending`). From a work's page it joins the conversation that made the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentpost.clock import new_id
from agentpost.db import accounts
from agentpost.db.session import Tx
from agentpost.domain import ids, limits
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.domain.roles import Right, may
from agentpost.domain.user_records import UserRecord
from agentpost.services import chats, sending, works
from agentpost.services.allowances import rules_of
from agentpost.services.attachments import InlineFile
from agentpost.services.context import AppContext
from agentpost.services.messages import Caller
from agentpost.services.sending import NewMessage


@dataclass(frozen=True, slots=True)
class NewText:
    """What somebody wrote in the app; ``chat_id``: a work or a conversation, None for a new one;
    ``user_id``: who writes it."""

    text: str
    upload_ids: tuple[str, ...] = ()
    files: tuple[InlineFile, ...] = ()
    chat_id: str | None = None
    user_id: str = ""
    answer_to: str | None = None
    answer: Any = None


async def say(ctx: AppContext, account_id: str, new: NewText) -> str:
    """Send it; the id of its conversation. Does not wait for the answer.

    Raises `RateLimited`, `Overloaded` and `Refusal`: ``empty_message``, ``too_long``, ``too_many``,
    ``not_found``, ``upload_not_ready``, ``too_large``.
    """
    ctx.intake.check(account_id)
    text = new.text.strip()
    if not text and new.answer is None and not new.upload_ids and not new.files:
        raise Refusal(ErrorCode.EMPTY_MESSAGE, "Write something, or add a file.")
    if len(text) > limits.MESSAGE_CHARACTERS_MAX:
        most = f"{limits.MESSAGE_CHARACTERS_MAX:,}"
        raise Refusal(
            ErrorCode.TOO_LONG, f"A message has up to {most} characters; add the text as a file."
        )
    if len(new.upload_ids) > limits.UPLOADS_PER_MESSAGE_MAX:
        most = f"{limits.UPLOADS_PER_MESSAGE_MAX}"
        raise Refusal(ErrorCode.TOO_MANY, f"A message has up to {most} files.")
    caller, conversation_id = await _caller(ctx, account_id, new.chat_id)
    name = ""
    if not conversation_id:
        name = _name_of_new(new_id(ids.CONVERSATION, ctx.clock.now()), new.user_id)
    message = NewMessage(
        text=text,
        conversation=name,
        conversation_id=conversation_id,
        upload_ids=new.upload_ids,
        held=False,
        answer_to=new.answer_to,
        answer=new.answer,
        user_id=new.user_id or None,
    )
    admitted = await sending.admit(ctx, caller, message, list(new.files))
    return (await sending.post(ctx, caller, admitted)).conversation_id


def may_delete(user: UserRecord, begun_by: str) -> bool:
    """Whether a user may delete a chat that ``begun_by`` began: owners all, others their own."""
    return may(user.role, Right.DELETE) or user.id == begun_by


def _name_of_new(conversation_id: str, user_id: str) -> str:
    """Another name each time, and whose it is: see `chats.begun_by`."""
    return f"{user_id}:{conversation_id}" if user_id else conversation_id


async def _caller(
    ctx: AppContext, account_id: str, chat_id: str | None
) -> tuple[Caller, str | None]:
    """The account as a caller, and the conversation that a chat belongs to."""

    def fn(tx: Tx) -> tuple[Caller, str | None]:
        rules = rules_of(ctx.settings, accounts.get(tx, account_id).limits_json)
        caller = Caller(account_id, "app", account_id, rules)
        return caller, chats.find(tx, account_id, chat_id)[0].id if chat_id else None

    return await ctx.db.read(fn)


async def delete(
    ctx: AppContext, account_id: str, chat_id: str, by: UserRecord | None = None
) -> None:
    """Delete the results and files of a chat; raises ``not_found``, ``forbidden`` when ``by`` may
    not."""

    def fn(tx: Tx) -> list[str]:
        conversation, work = chats.find(tx, account_id, chat_id)
        if by is not None and not may_delete(by, chats.begun_by(conversation)):
            raise Refusal(ErrorCode.FORBIDDEN, "Only an owner may delete what others began.")
        return chats.works_to_delete(tx, account_id, conversation, work)

    gone = await ctx.db.read(fn)
    for work_id in gone:
        await works.delete(ctx, account_id, work_id)
