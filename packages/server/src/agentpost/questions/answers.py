"""What a message answers: the typed question that it names, or the one right before it.

Answers are compared with their question before the transaction that takes the message in, since a
schema may take a while; the transaction only looks whether the question still stands (design: Typed
questions).
"""

import asyncio
import json
from dataclasses import dataclass
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
    if snapshot is None or not _may_answer(
        caller, snapshot.message, conversation_id, ctx.clock.now()
    ):
        return Answering(message_id, None, True, refusal=not_found("message"))
    where = snapshot.message.conversation_id
    if snapshot.message.status is not MessageStatus.NEEDS_INPUT:
        refusal = InvalidRequest(Problem("answer_to", _NOT_ASKING))
        return Answering(message_id, where, True, refusal=refusal)
    format_json = question_rules.format_of(snapshot)
    if value is None:
        return await _read_answer(message_id, where, format_json, text, is_named=True)
    answer_text = text or as_text(value)
    if len(as_text(value)) > MESSAGE_CHARACTERS_MAX:
        problems = [f"is over {MESSAGE_CHARACTERS_MAX:,} characters"]
    else:
        value, problems = await _fit(format_json, value)
    if problems:
        refusal = InvalidRequest(*(Problem("answer", each) for each in problems[:PROBLEMS_MAX]))
        return Answering(message_id, where, True, format_json, refusal=refusal)
    return Answering(message_id, where, True, format_json, answer_text, value, answers=True)


async def answer_to_previous(
    ctx: AppContext, message_id: str, conversation_id: str, text: str
) -> Answering:
    """What a message that names no question says to the one right before it."""
    snapshot = await _read(ctx, message_id)
    if snapshot is None or snapshot.message.status is not MessageStatus.NEEDS_INPUT:
        return Answering(message_id, conversation_id, False)
    return await _read_answer(
        message_id, conversation_id, question_rules.format_of(snapshot), text, is_named=False
    )


async def _read_answer(
    message_id: str, where: str, format_json: str | None, text: str, *, is_named: bool
) -> Answering:
    """The text of a message as an answer, if it is one."""
    value: Any = text
    problems: list[str] = [] if text else ["blank"]
    if format_json is None:
        problems = ["any text will do, so that this one is no typed answer"]
    elif not problems:
        if AnswerFormat.from_stored(format_json).schema is not None:
            try:
                value = value_in(AnswerFormat.from_stored(format_json), text)
            except ValueError as error:
                problems = [str(error)]
        if not problems:
            value, problems = await _fit(format_json, value)
    if problems:
        return Answering(message_id, where, is_named, format_json)
    return Answering(message_id, where, is_named, format_json, text, value, answers=True)


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


async def _read(ctx: AppContext, message_id: str) -> Snapshot | None:
    def fn(tx: Tx) -> Snapshot | None:
        message = message_rows.get(tx, message_id)
        return None if message is None else message_rows.snapshot(tx, message)

    return await ctx.db.read(fn) if ids.is_id(ids.MESSAGE, message_id) else None


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
