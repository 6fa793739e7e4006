"""Which messages of an account a list shows, and what people write to say so."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentpost.domain.limits import MESSAGE_FILTER_CHARACTERS_MAX
from agentpost.messages.rules import MessageStatus


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Which messages a list shows; None or empty: all. ``text``: a part of the text, conversation's
    name, idempotency key or metadata, in small or capital letters. ``conversation`` is a name,
    which `messages.lists` looks up for a key: a list of an account takes no notice of it. ``ids``
    and ``conversation_ids`` have an index: all messages are searched. ``metadata`` are
    (label, text), the times are in microseconds: ``created_after`` <= created <
    ``created_before``."""

    status: MessageStatus | None = None
    key_id: str | None = None
    text: str | None = None
    conversation: str | None = None
    ids: tuple[str, ...] = ()
    conversation_ids: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    created_after: int | None = None
    created_before: int | None = None


def message_filter(query: Mapping[str, str]) -> MessageFilter:
    """The filter of an address's query: ``status``, ``key``, ``q`` (a part of a text or
    name). Values that no message can have filter nothing."""

    def text(name: str) -> str | None:
        return query.get(name, "").strip()[:MESSAGE_FILTER_CHARACTERS_MAX] or None

    status = query.get("status", "")
    return MessageFilter(
        status=MessageStatus(status) if status in set(MessageStatus) else None,
        key_id=text("key"),
        text=text("q"),
    )
