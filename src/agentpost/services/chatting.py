"""Writing in the web app, and deleting a chat.

A message sent here belongs to the account itself, as those of the API belong to their key: it goes
the same way (`services.sending`). From a work's page it joins the conversation that made the work.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.clock import new_id
from agentpost.db import accounts
from agentpost.db.session import Tx
from agentpost.domain import idempotency, ids, limits
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.services import chats, sending, works
from agentpost.services.allowances import rules_of
from agentpost.services.attachments import InlineFile
from agentpost.services.context import AppContext
from agentpost.services.messages import Caller
from agentpost.services.sending import NewMessage


@dataclass(frozen=True, slots=True)
class NewText:
    """What somebody wrote in the app; ``chat_id``: a work or a conversation, None for a new one."""

    text: str
    upload_ids: tuple[str, ...] = ()
    files: tuple[InlineFile, ...] = ()
    chat_id: str | None = None


async def say(ctx: AppContext, account_id: str, new: NewText) -> str:
    """Send it; the id of its conversation. Does not wait for the answer.

    Raises `RateLimited` and `Refusal`: ``empty_message``, ``too_long``, ``too_many``,
    ``not_found``, ``upload_not_ready``, ``too_large``.
    """
    text = new.text.strip()
    if not text and not new.upload_ids and not new.files:
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
    name = "" if conversation_id else new_id(ids.CONVERSATION, ctx.clock.now())
    message = NewMessage(
        text=text,
        fingerprint=idempotency.fingerprint(text, [], list(new.upload_ids)),
        conversation=name,
        conversation_id=conversation_id,
        upload_ids=new.upload_ids,
        held=False,
    )
    admitted = await sending.admit(ctx, caller, message, list(new.files))
    return (await sending.post(ctx, caller, admitted)).conversation_id


async def _caller(
    ctx: AppContext, account_id: str, chat_id: str | None
) -> tuple[Caller, str | None]:
    """The account as a caller, and the conversation that a chat belongs to."""

    def fn(tx: Tx) -> tuple[Caller, str | None]:
        rules = rules_of(ctx.settings, accounts.get(tx, account_id).limits_json)
        caller = Caller(account_id, "app", account_id, rules)
        return caller, chats.find(tx, account_id, chat_id)[0].id if chat_id else None

    return await ctx.db.read(fn)


async def delete(ctx: AppContext, account_id: str, chat_id: str) -> None:
    """Delete the results and files of a chat; raises ``not_found``."""
    gone = await ctx.db.read(
        lambda tx: chats.doomed(tx, account_id, *chats.find(tx, account_id, chat_id))
    )
    for work_id in gone:
        await works.delete(ctx, account_id, work_id)
