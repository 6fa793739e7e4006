"""What a call in another protocol sends, and holding it until its work ends."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.domain import limits
from agentpost.domain.answers import AnswerFormat, value_in
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal
from agentpost.domain.times import seconds
from agentpost.following import followers
from agentpost.following.followers import Moment
from agentpost.following.held_calls import HungUp
from agentpost.messages import sending
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.rules import MessageStatus
from agentpost.questions import rules as question_rules
from agentpost.record.records import MessageRecord, Snapshot
from agentpost.wakeups.base import Wait


def answering(new: NewMessage, question: Snapshot) -> NewMessage:
    """The same, as the answer to a message when that asks a typed question.

    An answer that does not fit is refused then, where the API would take it for a message without
    an answer: a call through a door has said which question is meant. A question that was answered
    takes any message. Raises ``invalid_request`` for a text that is no JSON.
    """
    stored_format = question_rules.format_of(question)
    is_open = question.message.answered_by is None
    if question.message.status is not MessageStatus.NEEDS_INPUT or not (stored_format and is_open):
        return new
    try:
        value = value_in(AnswerFormat.from_stored(stored_format), new.text)
    except ValueError as error:
        raise InvalidRequest(Problem("answer", str(error))) from None
    return replace(
        new,
        conversation="",
        conversation_id=question.message.conversation_id,
        answer_to=question.message.id,
        answer=value,
    )


async def send(
    ctx: AppContext, caller: Caller, new: NewMessage, message_id: str | None = None
) -> MessageRecord:
    """`sending.post`; more files than a message may have are refused (``too_many``): these
    protocols have no place for the note that tells of them."""
    if new.is_empty:  # by the names that other protocols have
        raise Refusal(ErrorCode.EMPTY_MESSAGE, "Give a text or a file.")
    if len(new.files) > limits.INLINE_FILES_MAX:
        most = limits.INLINE_FILES_MAX
        raise Refusal(
            ErrorCode.TOO_MANY, f"A message may have up to {most} files besides its uploads."
        )
    return await sending.post(ctx, caller, new, message_id)


async def hold(
    ctx: AppContext,
    caller: Caller,
    message_id: str,
    hung_up: HungUp = followers.nobody_hangs_up,
    *,
    texts: bool = False,
    place: Wait | None = None,
) -> AsyncGenerator[Moment, None]:
    """`followers.follow` for a call that is held for `door_wait_seconds` at the most, and ends when
    only credits can move the message on."""
    until = ctx.clock.passed() + seconds(ctx.settings.door_wait_seconds)
    source = followers.follow(
        ctx, caller, message_id, hung_up=hung_up, texts=texts, place=place, until=until
    )
    with ctx.streams.count(caller.account_id):
        async with aclosing(source) as moments:
            async for moment in moments:
                yield moment
                if moment.waits_for_credits:
                    return
