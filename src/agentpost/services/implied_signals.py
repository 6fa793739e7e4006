"""Two signals that every message has and that are not kept, since other rows say the same: its
turn began with it, and what the agent replied."""

from __future__ import annotations

import json

from agentpost.db import timeline as rows
from agentpost.db.session import Tx
from agentpost.domain import signals as s
from agentpost.domain.records import MessageRecord


def implied_signals(tx: Tx, message: MessageRecord) -> list[tuple[int, s.TurnSignal]]:
    """Those of a message with their times; earlier versions kept them, and then none is implied."""
    found: list[tuple[int, s.TurnSignal]] = []
    if not rows.has_signal(tx, message.id, s.TurnBegun.__name__, s.TurnQueued.__name__):
        found.append((message.created_at, s.TurnBegun()))
    if message.reply is not None and not rows.has_signal(tx, message.id, s.TurnReplied.__name__):
        found.append((message.updated_at, _replied(tx, message, message.reply)))
    return found


def _replied(tx: Tx, message: MessageRecord, said: str) -> s.TurnReplied:
    """``said`` is the reply and the question (`derivation.said`)."""
    entry = rows.reply(tx, message.id)  # None: it was let go
    in_time = entry is not None and bool(json.loads(entry).get("delivered_sync"))
    question = message.asked
    text = said.removesuffix(question).removesuffix("\n\n") if question else said
    return s.TurnReplied(text or None, question, delivered_sync=in_time)
