"""Which messages of an account a list shows, and what people write to say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentpost.domain.limits import MESSAGE_FILTER_CHARACTERS_MAX
from agentpost.domain.message import MessageStatus


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Which messages are wanted; None: all. ``text``: a part of it, in small or capital letters."""

    status: MessageStatus | None = None
    key_id: str | None = None
    conversation_id: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Which messages of a key are listed; None: all.

    ``conversation`` is a name, ``metadata`` are (label, text), the times are in microseconds:
    ``created_after`` <= created < ``created_before``.
    """

    status: MessageStatus | None = None
    conversation: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    created_after: int | None = None
    created_before: int | None = None


def message_filter(given: Mapping[str, str]) -> MessageFilter:
    """The filter of an address's query: ``status``, ``key``, ``conversation`` (its id), ``text``.
    What cannot be meant filters nothing."""

    def text(name: str) -> str | None:
        return given.get(name, "").strip()[:MESSAGE_FILTER_CHARACTERS_MAX] or None

    status = given.get("status", "")
    return MessageFilter(
        status=MessageStatus(status) if status in set(MessageStatus) else None,
        key_id=text("key"),
        conversation_id=text("conversation"),
        text=text("text"),
    )
