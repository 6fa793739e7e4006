"""What a message answers: the typed question that it names, or the one right before it.

Answers are compared with their question before the transaction that takes the message in, since a
schema may take a while; the transaction only looks whether the question still stands (design: Typed
questions).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentpost.agents import schemas
from agentpost.db import conversations
from agentpost.db import messages as message_rows
from agentpost.db.session import Tx
from agentpost.domain import answers, ids
from agentpost.domain.answers import AnswerFormat
from agentpost.domain.errors import InvalidRequest, Problem, Refusal, not_found
from agentpost.domain.limits import MESSAGE_CHARACTERS_MAX, PROBLEMS_MAX
from agentpost.domain.message import MessageStatus, TurnState
from agentpost.domain.records import ConversationRecord, MessageRecord, Snapshot
from agentpost.services import record
from agentpost.services.context import AppContext
from agentpost.services.messages import Caller

_NOT_ASKING = "that message does not ask anything (any more)"
_ANSWERED = "that question has been answered"


@dataclass(frozen=True, slots=True)
class Answering:
    """A message that may answer a question, compared with it.

    ``named``: by ``answer_to``; else the question is the one right before it, and what does not fit
    is no answer. ``refusal``: why it cannot be taken, for one that repeats no other message.
    """

    message_id: str
    conversation_id: str | None
    named: bool
    format_json: str | None = None
    text: str | None = None
    value: Any = None
    answers: bool = False
    refusal: Refusal | None = None


# --- before the transaction -----------------------------------------------------------------------
async def check_schema(
    ctx: AppContext,
    account_id: str,
    schema: dict[str, Any],
    field: str = "response_schema",
    check: Callable[[object], dict[str, Any]] = schemas.check,
) -> dict[str, Any]:
    """The schema of an account's caller, as one of draft 2020-12.

    ``check`` may be `schemas.written`, which takes less time. Raises ``invalid_request``, which
    names the field, for a schema that cannot be used.
    """
    try:
        return await ctx.account_threads.run(account_id, partial(check, schema))
    except ValueError as error:
        raise InvalidRequest(Problem(field, str(error))) from None


async def named(
    ctx: AppContext,
    caller: Caller,
    message_id: str,
    conversation_id: str | None,
    text: str,
    value: Any,
) -> Answering:
    """What a message says to the question of the message that it names.

    Args:
        conversation_id: one of the account that the caller may answer in, whichever key asked.
        value: the answer; None: the text may be one.
    """
    asked = await _read(ctx, message_id)
    if asked is None or not _may_answer(caller, asked.message, conversation_id, ctx.clock.now()):
        return Answering(message_id, None, True, refusal=not_found("message"))
    where = asked.message.conversation_id
    if asked.message.status is not MessageStatus.NEEDS_INPUT:
        refusal = InvalidRequest(Problem("answer_to", _NOT_ASKING))
        return Answering(message_id, where, True, refusal=refusal)
    format_json = answers.format_of(asked)
    if value is None:
        return await _heard(message_id, where, format_json, text, is_named=True)
    said = text or answers.as_text(value)
    if len(answers.as_text(value)) > MESSAGE_CHARACTERS_MAX:
        found = [f"is over {MESSAGE_CHARACTERS_MAX:,} characters"]
    else:
        value, found = await _fitted(format_json, value)
    if found:
        refusal = InvalidRequest(*(Problem("answer", each) for each in found[:PROBLEMS_MAX]))
        return Answering(message_id, where, True, format_json, refusal=refusal)
    return Answering(message_id, where, True, format_json, said, value, answers=True)


async def heard(ctx: AppContext, message_id: str, conversation_id: str, text: str) -> Answering:
    """What a message that names no question says to the one right before it."""
    asked = await _read(ctx, message_id)
    if asked is None or asked.message.status is not MessageStatus.NEEDS_INPUT:
        return Answering(message_id, conversation_id, False)
    return await _heard(message_id, conversation_id, answers.format_of(asked), text, is_named=False)


async def _heard(
    message_id: str, where: str, format_json: str | None, text: str, *, is_named: bool
) -> Answering:
    """The text of a message as an answer, if it is one."""
    value: Any = text
    found: list[str] = [] if text else ["blank"]
    if format_json is None:
        found = ["any text will do, so that this one is no typed answer"]
    elif not found:
        if AnswerFormat.stored(format_json).schema is not None:
            try:
                value = answers.value_in(AnswerFormat.stored(format_json), text)
            except ValueError as error:
                found = [str(error)]
        if not found:
            value, found = await _fitted(format_json, value)
    if found:
        return Answering(message_id, where, is_named, format_json)
    return Answering(message_id, where, is_named, format_json, text, value, answers=True)


async def _fitted(format_json: str | None, value: Any) -> tuple[Any, list[str]]:
    """The value as the question has it, and what is wrong with it."""
    if format_json is None:
        return value, []
    asked = AnswerFormat.stored(format_json)
    if asked.choices is not None:
        choice = answers.chosen(asked.choices, value) if isinstance(value, str) else None
        return choice, [] if choice else [f"must be one of {answers.listed(asked.choices)}"]
    assert asked.schema is not None
    found = await asyncio.to_thread(schemas.problems, asked.schema, value)
    return value, [f"at {path}: {problem}" for path, problem in found]


def _may_answer(
    caller: Caller, asked: MessageRecord, conversation_id: str | None, now: int
) -> bool:
    if asked.account_id != caller.account_id or asked.expires_at <= now:
        return False
    return asked.key_id == caller.key_id or asked.conversation_id == conversation_id


async def _read(ctx: AppContext, message_id: str) -> Snapshot | None:
    def fn(tx: Tx) -> Snapshot | None:
        message = message_rows.get(tx, message_id)
        return None if message is None else message_rows.snapshot(tx, message)

    return await ctx.db.read(fn) if ids.is_id(ids.MESSAGE, message_id) else None


def asked_by(tx: Tx, message: MessageRecord) -> tuple[str, AnswerFormat] | None:
    """The id of a message, and what its question asks for; None for one that takes any text."""
    wanted = answers.format_of(message_rows.snapshot(tx, message))
    return None if wanted is None else (message.id, AnswerFormat.stored(wanted))


# --- in it ----------------------------------------------------------------------------------------
def take(
    tx: Tx, conversation: ConversationRecord, said: Answering | None, message_id: str
) -> str | None:
    """Let a new message of the locked conversation answer its question, once; what it answers, as
    JSON. The next message has no question before it, unless there is a new one.

    Raises ``invalid_request`` for a question that was answered meanwhile.
    """
    if conversation.asking_message_id is not None:
        conversations.set_asking(tx, conversation.id, None)
    if said is None or not said.answers:
        return None
    asked = message_rows.lock(tx, said.message_id)
    problem = _NOT_ASKING if asked is None else _problem(tx, asked, said)
    if problem is None:
        record.set_answered(tx, said.message_id, message_id)
        return json.dumps({"message_id": said.message_id, "value": said.value}, ensure_ascii=False)
    if said.named:
        raise InvalidRequest(Problem("answer_to", problem))
    return None


def _problem(tx: Tx, asked: MessageRecord, said: Answering) -> str | None:
    """Why the locked message cannot be answered any more."""
    if asked.status is not MessageStatus.NEEDS_INPUT:
        return _NOT_ASKING
    if answers.format_of(message_rows.snapshot(tx, asked)) != said.format_json:
        return "that message asks something else by now"
    if asked.answered_by is None:
        return None
    before = message_rows.get(tx, asked.answered_by)
    # Of an answer that nothing came of, the question still stands.
    nothing = before is None or before.turn_state in (TurnState.FAILED, TurnState.BUSY)
    return None if nothing else _ANSWERED
