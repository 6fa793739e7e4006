"""Chats: what the list and a conversation show, of whom, and where a message goes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentpost.chats import actions as chatting, lists
from agentpost.domain import ids
from agentpost.explain.reasons import EXPLANATIONS
from agentpost.jobs.rules import Reason
from agentpost.limits import allowances
from agentpost.messages.new_messages import NewMessage
from tests.harness.databases import ON_SQLITE
from tests.harness.driver import ManualHarness, manual_harness


@pytest.fixture
async def at(tmp_path: Path, schema_url: str | None) -> AsyncIterator[ManualHarness]:
    """On each database."""
    given = {} if schema_url is None else {"database_url": schema_url}
    async with manual_harness(tmp_path, **given) as made:
        yield made


def account(at: ManualHarness) -> str:
    return at.caller.account_id


async def says(at: ManualHarness, text: str, chat_id: str | None = None) -> str:
    """A message of the app, sent a second later; the id of its chat."""
    at.clock.advance(1)
    return await chatting.say(at.ctx, account(at), NewMessage(text), chat_id)


async def newest(at: ManualHarness) -> str:
    """The id of the message that was taken in last."""
    rows = await at.rows("SELECT id FROM messages ORDER BY id DESC LIMIT 1")
    return str(rows[0][0])


async def work_of(at: ManualHarness, message_id: str) -> str:
    (link,) = (await at.snapshot(message_id)).links
    return link.job.work_id


async def chat_lines(
    at: ManualHarness, search: str = "", before: str = ""
) -> list[tuple[str, str]]:
    found, _ = await lists.list_(at.ctx, account(at), search, before)
    return [(line.title, line.state.value) for line in found]


async def test_the_list_has_works_and_conversations_without_any(at: ManualHarness) -> None:
    _, owned = await at.working("by the API")
    at.clock.advance(1)
    await at.say("only asked", conversation="other")
    at.clock.advance(1)
    chat_id = await says(at, "from the app")
    assert await chat_lines(at) == [
        ("from the app", "running"),
        ("only asked", "completed"),
        ("Work", "running"),
    ]
    await at.finish(owned)
    await at.end(await newest(at))
    assert ("from the app", "completed") in await chat_lines(at)
    assert ("Work", "completed") in await chat_lines(at)
    assert chat_id.startswith(ids.CONVERSATION)


@ON_SQLITE
async def test_a_chat_of_the_app_is_listed_once(at: ManualHarness) -> None:
    """Whatever number of works it has; those of a key's one conversation stand each for itself."""
    chat_id = await says(at, "one")
    for text in ("two", "three"):
        owned = await at.start(await newest(at))
        await at.end(await newest(at))
        await at.finish(owned)
        at.clock.advance(1)
        await says(at, text, chat_id)
    await at.end(await newest(at))
    for _ in range(2):
        message_id = (await at.accept()).message.id
        await at.start(message_id)
        await at.end(message_id)
    found = (await lists.list_(at.ctx, account(at)))[0]
    assert [line.is_own for line in found].count(True) == 1
    assert len(found) == 3


async def test_a_chat_of_the_app_stands_as_its_newest_message_does(at: ManualHarness) -> None:
    """Whatever became of the work before it."""
    chat_id = await says(at, "one")
    owned = await at.start(await newest(at))
    await at.end(await newest(at))
    await at.finish(owned)
    await says(at, "what is the weather?", chat_id)
    assert await chat_lines(at) == [("one", "running")]
    await at.end(await newest(at), "", question="Where?")
    (line,) = (await lists.list_(at.ctx, account(at)))[0]
    assert (line.state.value, line.preview) == ("needs input", "Where?")


@ON_SQLITE
async def test_a_long_title_ends_with_a_word(at: ManualHarness) -> None:
    await says(at, "\n" + "word " * 40)
    ((title, _),) = await chat_lines(at)
    assert title == "word " * 22 + "word…"
    await says(at, "w" * 200)
    assert (await chat_lines(at))[0][0] == "w" * 119 + "…"


async def test_the_list_is_searched_and_paged(at: ManualHarness) -> None:
    _, owned = await at.working("a")
    await at.finish(owned, "Revenue rose by 100% in May_June")
    assert await chat_lines(at, "ROSE BY 100%") == [("Work", "completed")]
    assert await chat_lines(at, "may_june") == [("Work", "completed")]
    assert await chat_lines(at, "mayxjune") == []
    assert await chat_lines(at, "work") == [("Work", "completed")]
    for n in range(lists.LIST_PAGE):
        await at.finish((await at.working(f"more {n}"))[1])
    page, older = await lists.list_(at.ctx, account(at))
    assert len(page) == lists.LIST_PAGE
    assert older is not None
    rest, end = await lists.list_(at.ctx, account(at), "", older)
    assert (len(rest), end) == (1, None)


@ON_SQLITE
async def test_a_message_of_the_app_joins_the_conversation_that_made_the_work(
    at: ManualHarness,
) -> None:
    message_id, owned = await at.working("by the API")
    work_id = await work_of(at, message_id)
    chat_id = await says(at, "make it green", work_id)
    sent = await at.snapshot(await newest(at))
    before = await at.snapshot(message_id)
    assert chat_id == sent.message.conversation_id == before.message.conversation_id
    assert sent.message.key_id == account(at), "it belongs to the account, not to the key"
    await at.join(sent.message.id, owned.job_id)
    await at.end(sent.message.id)
    shown = await lists.conversation(at.ctx, account(at), work_id)
    assert [each.message.text for each in shown.exchanges] == ["by the API", "make it green"]
    (first,), (second,) = (each.cards for each in shown.exchanges)
    assert (first.is_latest, second.is_latest) == (False, True), "a job is shown in full once"
    assert (second.is_follow_up, second.is_open) == (True, True)
    assert shown.can_be_deleted


@ON_SQLITE
async def test_it_waits_for_its_turn_as_long_as_a_turn_may_take(at: ManualHarness) -> None:
    chat_id = await says(at, "one")
    first = await newest(at)
    await says(at, "two", chat_id)
    second = await newest(at)
    at.clock.advance(at.ctx.settings.busy_wait_seconds + 1)
    shown = await lists.conversation(at.ctx, account(at), chat_id)
    assert [each.is_waiting for each in shown.exchanges] == [True, True]
    await at.end(first)
    await at.end(second, "done, too")
    shown = await lists.conversation(at.ctx, account(at), chat_id)
    assert [each.message.reply for each in shown.exchanges] == ["there", "done, too"]


async def test_long_conversations_are_paged(at: ManualHarness) -> None:
    message_id, owned = await at.working("the first")
    await at.finish(owned)
    work_id = await work_of(at, message_id)
    count = 2 * lists.TURNS_PAGE
    for n in range(count):
        await at.say(f"m{n}", conversation="the first")
    newest_page = await lists.conversation(at.ctx, account(at), await conversation(at, message_id))
    texts = [each.message.text for each in newest_page.exchanges]
    assert texts == [f"m{n}" for n in range(count - lists.TURNS_PAGE, count)]
    assert newest_page.newer is None
    older = await lists.conversation(at.ctx, account(at), newest_page.id, newest_page.older)
    assert [each.message.text for each in older.exchanges][-1] == f"m{count - lists.TURNS_PAGE - 1}"
    assert older.newer is not None
    of_work = await lists.conversation(at.ctx, account(at), work_id)
    assert of_work.exchanges[0].cards, "a work's page shows the work"
    assert of_work.newer is not None


async def conversation(at: ManualHarness, message_id: str) -> str:
    return (await at.snapshot(message_id)).message.conversation_id


@ON_SQLITE
async def test_a_work_outlives_its_messages(at: ManualHarness) -> None:
    message_id, owned = await at.working("long ago")
    await at.finish(owned, "kept")
    work_id = await work_of(at, message_id)
    at.clock.advance(at.ctx.settings.message_retention_seconds + 8 * 86_400)
    shown = await lists.conversation(at.ctx, account(at), work_id)
    assert shown.exchanges == []
    assert shown.left is not None
    assert shown.work is not None
    assert shown.work.text == "kept"


async def test_deleting_a_chat_of_the_app_deletes_its_works(at: ManualHarness) -> None:
    chat_id = await says(at, "one")
    owned = await at.start(await newest(at))
    await at.end(await newest(at))
    await at.finish(owned)
    other, _ = await at.working("by the API")
    await chatting.delete(at.ctx, account(at), chat_id)
    assert await chat_lines(at) == [("Work", "running")]
    shown = await lists.conversation(at.ctx, account(at), chat_id)
    assert [card.gone for each in shown.exchanges for card in each.cards] == [True]
    await chatting.delete(at.ctx, account(at), await work_of(at, other))
    assert await chat_lines(at) == []


@ON_SQLITE
async def test_what_was_not_started_cannot_be_stopped(at: ManualHarness) -> None:
    await allowances.override(at.ctx, account(at), {"running_jobs": 1})
    await at.working("takes the only place")
    chat_id = await says(at, "one more")
    with pytest.raises(AssertionError, match="refused"):
        await at.start(await newest(at))
    await at.end(await newest(at))
    (exchange,) = (await lists.conversation(at.ctx, account(at), chat_id)).exchanges
    (card,) = exchange.cards
    assert card.explanation == EXPLANATIONS[Reason.TOO_MANY_RUNNING]
    assert not card.is_open
    assert not card.gone


def test_every_reason_is_explained() -> None:
    assert set(EXPLANATIONS) == set(Reason)
