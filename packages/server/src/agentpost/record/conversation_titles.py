"""What a conversation is called: by the first line of its first message."""

from typing import Final

from agentpost.db.session import Tx
from agentpost.record import history_rows
from agentpost.record.records import MessageRecord

_SECOND_TURN: Final = 2
_CHARACTERS: Final = 120


def first(tx: Tx, conversation_id: str) -> MessageRecord | None:
    """The first message, as long as it is kept."""
    second_turn = history_rows.messages_before(tx, conversation_id, _SECOND_TURN, 1)
    return second_turn[0] if second_turn else None


def of(message: MessageRecord) -> str:
    """The title by the first message; "" when that has no text. A long line ends with a word."""
    line = next((line.strip() for line in message.text.splitlines() if line.strip()), "")
    if len(line) <= _CHARACTERS:
        return line
    cut = line[: _CHARACTERS - 1]
    whole, _, _ = cut.rpartition(" ")
    return f"{whole or cut}…"
