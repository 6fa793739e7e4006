"""Writing in the web app, and deleting a chat.

A message sent here belongs to the account itself, as those of the API belong to their key: it goes
the same way (`messages.sending`). From a work's page it joins the conversation that made the work.
"""

from dataclasses import replace

from agentpost.accounts import rows as account_rows
from agentpost.caller import Caller
from agentpost.chats import lists
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.jobs import works
from agentpost.limits.allowances import rules_of
from agentpost.messages import sending
from agentpost.messages.new_messages import NewMessage
from agentpost.transactions import read_transaction
from agentpost.users.records import UserRecord
from agentpost.users.role_rules import Right, may


async def say(ctx: AppContext, account_id: str, new: NewMessage, chat_id: str | None = None) -> str:
    """Send it into a chat; the id of its conversation. Does not wait for the answer. ``chat_id``: a
    work or a conversation, None for a new one. Raises as `sending.post`, and ``not_found``."""
    if new.is_empty:
        raise Refusal(ErrorCode.EMPTY_MESSAGE, "Write something, or add a file.")
    caller, conversation_id = await _caller(ctx, account_id, chat_id)
    # Another name for each new one, and whose it is: see `chats.lists.begun_by`.
    name = new_id(ids.CONVERSATION, ctx.clock.now()) if conversation_id is None else ""
    if name and new.user_id:
        name = f"{new.user_id}:{name}"
    new = replace(new, conversation=name, conversation_id=conversation_id, held=False)
    return (await sending.post(ctx, caller, new)).conversation_id


def may_delete(user: UserRecord, begun_by: str) -> bool:
    """Whether a user may delete a chat that ``begun_by`` began: owners all, others their own."""
    return may(user.role, Right.DELETE) or user.id == begun_by


@read_transaction
def _caller(
    tx: Tx, ctx: AppContext, account_id: str, chat_id: str | None
) -> tuple[Caller, str | None]:
    """The account as a caller, and the conversation that a chat belongs to."""
    rules = rules_of(ctx.settings, account_rows.get(tx, account_id).limits_json)
    caller = Caller(account_id, "app", account_id, rules)
    return caller, lists.find(tx, account_id, chat_id)[0].id if chat_id else None


async def delete(
    ctx: AppContext, account_id: str, chat_id: str, by: UserRecord | None = None
) -> None:
    """Delete the results and files of a chat; raises ``not_found``, ``forbidden`` when ``by`` may
    not."""

    def fn(tx: Tx) -> list[str]:
        conversation, work = lists.find(tx, account_id, chat_id)
        if by is not None and not may_delete(by, lists.begun_by(conversation)):
            raise Refusal(ErrorCode.FORBIDDEN, "Only an owner may delete what others began.")
        return lists.works_to_delete(tx, conversation, work)

    gone = await ctx.db.read(fn)
    for work_id in gone:
        await works.delete(ctx, account_id, work_id)
