"""Finding things by the names that a product gave them, or by an id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.messages import list_rows
from agentpost.messages.filter_rules import MessageFilter
from agentpost.transactions import read_transaction

_PREFIXES: Final = (ids.MESSAGE, ids.JOB, ids.EVENT, ids.REQUEST, ids.CONVERSATION)
_CONVERSATIONS_MAX: Final = 20
_MESSAGES_MAX: Final = 200
"""Whose requests are searched for at most."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a text names exactly; all fields empty: nothing.

    Attributes:
        message_ids: the message with that id, or that of the job or event; the messages with that
            idempotency key.
        request_id: the request with that id.
        conversation_ids: the conversations of that name or id.
    """

    message_ids: tuple[str, ...] = ()
    request_id: str | None = None
    conversation_ids: tuple[str, ...] = ()


NOTHING: Final = Subject()


@read_transaction
def subject(tx: Tx, ctx: AppContext, account_id: str, text: str) -> Subject:
    """What of the account the text names exactly: an id, a conversation or an idempotency key."""
    prefix = next((each for each in _PREFIXES if ids.is_id(each, text)), None)
    if prefix is not None:
        target = list_rows.by_id(tx, account_id, prefix, text)
        if target is None:
            return NOTHING
        if prefix == ids.REQUEST:
            return Subject(request_id=target)
        if prefix == ids.CONVERSATION:
            return Subject(conversation_ids=(target,))
        return Subject((target,))
    if not text:
        return NOTHING
    if conversation_ids := list_rows.conversations(tx, account_id, text, _CONVERSATIONS_MAX):
        return Subject(conversation_ids=conversation_ids)
    return Subject(list_rows.of_idempotency_key(tx, account_id, text, _CONVERSATIONS_MAX))


@read_transaction
def conversation_names(
    tx: Tx, ctx: AppContext, request_ids: Sequence[str]
) -> dict[str, str | None]:
    """Of requests about a message: the name of its conversation. The ids are of our own rows."""
    return list_rows.conversation_names(tx, request_ids)


@read_transaction
def messages_about(
    tx: Tx, ctx: AppContext, account_id: str, subject: Subject, text: str
) -> tuple[tuple[str, ...], bool]:
    """The newest messages of a subject; without one, those in whose names or texts the text is, of
    the newest messages of the account (`db.filtered`). The second value: whether there may be more.
    """
    if subject != NOTHING and not subject.conversation_ids:
        return subject.message_ids, False
    is_text = not subject.conversation_ids
    fits = MessageFilter(text=text if is_text else None, conversation_ids=subject.conversation_ids)
    owner, now = ("account_id", account_id), ctx.clock.now()
    rows, more = list_rows.page(tx, owner, fits, now, ("id",), limit=_MESSAGES_MAX)
    return tuple(row[0] for row in rows), more is not None
