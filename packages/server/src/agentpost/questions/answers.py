"""What a message answers: the typed question that it names, or the one right before it.

Answers are compared with their question before the transaction that takes the message in, since a
schema may take a while; the transaction only looks whether the question still stands (design: Typed
questions).
"""

import asyncio
import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agentpost.agents import schemas
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.answers import AnswerFormat, as_text, choices_text, find_choice, value_in
from agentpost.domain.errors import InvalidRequest, Problem, Refusal, not_found
from agentpost.domain.limits import MESSAGE_CHARACTERS_MAX, PROBLEMS_MAX
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.questions import rules as question_rules
from agentpost.record import writer
from agentpost.record.records import ConversationRecord, MessageRecord, Snapshot
from agentpost.transactions import read_transaction
from agentpost.turns import conversation_rows

_NOT_ASKING = "that message does not ask anything (any more)"
_ANSWERED = "that question has been answered"


@dataclass(frozen=True, slots=True)
class Answering:
    """A message that may answer a question, compared with it. ``is_named``: by ``answer_to``; else
    the question is the one right before it, and a text that does not fit is no answer. ``refusal``:
    why it cannot be taken, for one that repeats no other message."""

    message_id: str
    conversation_id: str | None
    is_named: bool
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
    *,
    is_stored: bool = False,
) -> dict[str, Any]:
    """The schema of an account's caller, as one of draft 2020-12. Raises ``invalid_request``, which
    names the field, for a schema that cannot be used."""
    check = partial(schemas.check, schema, is_stored=is_stored)
    try:
        return await ctx.account_threads.run(account_id, check)
    except ValueError as error:
        raise InvalidRequest(Problem(field, str(error))) from None


async def answer_to_named(
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
    snapshot = await _read(ctx, message_id)
    now = ctx.clock.now()
    if snapshot is None or not _may_answer(caller, snapshot.message, conversation_id, now):
        return Answering(message_id, None, True, refusal=not_found("message"))
    answering = _answering(snapshot, is_named=True)
    if snapshot.message.status is not MessageStatus.NEEDS_INPUT:
        return replace(answering, refusal=InvalidRequest(Problem("answer_to", _NOT_ASKING)))
    if value is None:
        return await _read_answer(answering, text)
    answer_text = text or as_text(value)
    if len(as_text(value)) > MESSAGE_CHARACTERS_MAX:
        problems = [f"is over {MESSAGE_CHARACTERS_MAX:,} characters"]
    else:
        value, problems = await _fit(answering.format_json, value)
    if problems:
        refusal = InvalidRequest(*(Problem("answer", each) for each in problems[:PROBLEMS_MAX]))
        return replace(answering, refusal=refusal)
    return replace(answering, text=answer_text, value=value, answers=True)


async def answer_to_previous(
    ctx: AppContext, message_id: str, conversation_id: str, text: str
) -> Answering:
    """What a message that names no question says to the one right before it."""
    snapshot = await _read(ctx, message_id)
    if snapshot is None or snapshot.message.status is not MessageStatus.NEEDS_INPUT:
        return Answering(message_id, conversation_id, False)
    return await _read_answer(_answering(snapshot, is_named=False), text)


def _answering(snapshot: Snapshot, *, is_named: bool) -> Answering:
    """For the question of that message; nothing is said to it yet."""
    message, format_json = snapshot.message, question_rules.format_of(snapshot)
    return Answering(message.id, message.conversation_id, is_named, format_json)


async def _read_answer(answering: Answering, text: str) -> Answering:
    """The text of a message as an answer, if it is one: any text will do where no format is asked
    for, so that none is a typed answer."""
    if answering.format_json is None or not text:
        return answering
    try:
        value = value_in(AnswerFormat.from_stored(answering.format_json), text)
    except ValueError:
        return answering
    value, problems = await _fit(answering.format_json, value)
    return answering if problems else replace(answering, text=text, value=value, answers=True)


async def _fit(format_json: str | None, value: Any) -> tuple[Any, list[str]]:
    """The value as the question has it, and what is wrong with it."""
    if format_json is None:
        return value, []
    answer_format = AnswerFormat.from_stored(format_json)
    if answer_format.choices is not None:
        choice = find_choice(answer_format.choices, value) if isinstance(value, str) else None
        return choice, [] if choice else [f"must be one of {choices_text(answer_format.choices)}"]
    assert answer_format.schema is not None
    problems = await asyncio.to_thread(schemas.problems, answer_format.schema, value)
    return value, [f"at {path}: {problem}" for path, problem in problems]


def _may_answer(
    caller: Caller, message: MessageRecord, conversation_id: str | None, now: int
) -> bool:
    if message.account_id != caller.account_id or message.expires_at <= now:
        return False
    return message.key_id == caller.key_id or message.conversation_id == conversation_id


@read_transaction
def _read(tx: Tx, ctx: AppContext, message_id: str) -> Snapshot | None:
    message = message_rows.get(tx, message_id) if ids.is_id(ids.MESSAGE, message_id) else None
    return None if message is None else message_rows.snapshot(tx, message)


def asked_by(tx: Tx, message: MessageRecord) -> tuple[str, AnswerFormat] | None:
    """The id of a message, and what its question asks for; None for one that takes any text."""
    format_json = question_rules.format_of(message_rows.snapshot(tx, message))
    return None if format_json is None else (message.id, AnswerFormat.from_stored(format_json))


# --- in it ----------------------------------------------------------------------------------------
def take(
    tx: Tx, conversation: ConversationRecord, answering: Answering | None, message_id: str
) -> str | None:
    """Let a new message of the locked conversation answer its question, once; what it answers, as
    JSON. The next message has no question before it, unless there is a new one. Raises
    ``invalid_request`` for a question that was answered meanwhile."""
    if conversation.asking_message_id is not None:
        conversation_rows.set_asking(tx, conversation.id, None)
    if answering is None or not answering.answers:
        return None
    question = message_rows.lock(tx, answering.message_id)
    problem = _NOT_ASKING if question is None else _problem(tx, question, answering)
    if problem is None:
        writer.set_answered(tx, answering.message_id, message_id)
        return json.dumps(
            {"message_id": answering.message_id, "value": answering.value}, ensure_ascii=False
        )
    if answering.is_named:
        raise InvalidRequest(Problem("answer_to", problem))
    return None


def _problem(tx: Tx, question: MessageRecord, answering: Answering) -> str | None:
    """Why the locked message cannot be answered any more."""
    if question.status is not MessageStatus.NEEDS_INPUT:
        return _NOT_ASKING
    if question_rules.format_of(message_rows.snapshot(tx, question)) != answering.format_json:
        return "that message asks something else by now"
    if question.answered_by is None:
        return None
    before = message_rows.get(tx, question.answered_by)
    # Of an answer that nothing came of, the question still stands.
    nothing = before is None or before.turn_state in (TurnState.FAILED, TurnState.BUSY)
    return None if nothing else _ANSWERED
