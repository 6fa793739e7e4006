"""`follow`, `wait` and `get`: reading along until there is nothing more."""

import httpx2
import pytest

from agentpost_client import WaitTimeout
from tests.client.scripted import Talk, answer, message, page, refusal

PROCESSING = message("processing", final=False)


async def test_entries_come_in_order_over_pages_until_done(talk: Talk) -> None:
    talk.script = [
        answer(page(1, 2, cursor="a", has_more=True, done=False)),
        answer(page(cursor="b", has_more=False, done=False)),
        answer(page(3, cursor="c", has_more=False, done=True)),
    ]
    entries = await talk("follow", "msg_1")
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert [dict(request.url.params) for request in talk.asked] == [
        {"wait": "45"},
        {"wait": "45", "cursor": "a"},
        {"wait": "45", "cursor": "b"},
    ]
    assert talk.pauses == []


async def test_done_with_more_to_read_is_not_the_end(talk: Talk) -> None:
    talk.script = [
        answer(page(1, has_more=True, done=True)),
        answer(page(2, has_more=False, done=True)),
    ]
    assert [entry.seq for entry in await talk("follow", "msg_1")] == [1, 2]


async def test_an_expired_cursor_goes_on_without_repeating_entries(talk: Talk) -> None:
    talk.script = [
        answer(page(1, 2, cursor="old")),
        answer(page(cursor="fresh", cursor_expired=True)),
        answer(page(2, 3, cursor="end", done=True)),
    ]
    assert [entry.seq for entry in await talk("follow", "msg_1")] == [1, 2, 3]
    assert talk.asked[2].url.params["cursor"] == "fresh"


async def test_somebody_elses_wait_is_waited_for_with_the_cursor_given(talk: Talk) -> None:
    talk.script = [
        answer(page(1, cursor="a")),
        refusal(409, "poll_in_progress", cursor="b"),
        refusal(409, "poll_in_progress", cursor="b"),
        answer(page(2, cursor="c", done=True)),
    ]
    assert [entry.seq for entry in await talk("follow", "msg_1")] == [1, 2]
    assert [request.url.params.get("cursor") for request in talk.asked] == [None, "a", "b", "b"]
    assert talk.pauses == [1.5, 2.0]


async def test_a_break_loses_and_repeats_nothing(talk: Talk) -> None:
    talk.script = [
        answer(page(1, cursor="a")),
        httpx2.ReadError("reset"),
        answer(page(2, cursor="b", done=True)),
    ]
    assert [entry.seq for entry in await talk("follow", "msg_1")] == [1, 2]
    assert [request.url.params.get("cursor") for request in talk.asked] == [None, "a", "a"]


async def test_unheld_empty_answers_are_not_asked_for_in_a_tight_loop(talk: Talk) -> None:
    talk.answer_seconds = 0.01
    talk.script = [answer(page()), answer(page(1, done=True))]
    await talk("follow", "msg_1")
    assert talk.pauses == [1.0]


async def test_wait_polls_until_final_not_until_a_status(talk: Talk) -> None:
    blocked = message("blocked", final=False, resume="add_credits")
    talk.script = [answer(PROCESSING), answer(blocked), answer(PROCESSING), answer(message())]
    assert (await talk("wait", "msg_1")).status == "completed"
    assert [request.url.params.get("wait") for request in talk.asked] == [None, "45", "45", "45"]


async def test_wait_ends_with_the_last_state_when_time_is_up(talk: Talk) -> None:
    talk.script = [answer(PROCESSING), answer(PROCESSING)]
    with pytest.raises(WaitTimeout) as caught:
        await talk("wait", "msg_1", timeout=50)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.message.status == "processing"
    assert talk.asked[1].url.params["wait"] == "20"


async def test_wait_without_time_looks_once(talk: Talk) -> None:
    talk.script = [answer(message())]
    assert (await talk("wait", "msg_1", timeout=0)).final


async def test_unheld_waits_are_not_repeated_in_a_tight_loop(talk: Talk) -> None:
    talk.answer_seconds = 0.01
    talk.script = [answer(PROCESSING), answer(PROCESSING), answer(message())]
    await talk("wait", "msg_1")
    assert talk.pauses == [1.0]


async def test_get_passes_the_wait_on_and_outlasts_it(talk: Talk) -> None:
    talk.script = [answer(message())]
    await talk("get", "msg_1", wait=30)
    (request,) = talk.asked
    assert request.url.params["wait"] == "30"
    assert request.extensions["timeout"]["read"] == 90
    assert request.extensions["timeout"]["connect"] == 5


async def test_following_goes_on_where_it_stopped(talk: Talk) -> None:
    """Each entry says where to read on, and its number what of that page was read before."""
    talk.script = [
        answer(page(1, 2, cursor="a", has_more=True)),
        answer(page(3, 4, cursor="b", done=True)),
    ]
    entries = await talk("follow", "msg_1")
    assert [entry.cursor for entry in entries] == [None, "a", "a", "b"]
    stopped = entries[2]
    talk.asked.clear()
    talk.script = [answer(page(3, 4, cursor="b", done=True))]
    rest = await talk("follow", "msg_1", cursor=stopped.cursor, after=stopped.seq)
    assert [entry.seq for entry in rest] == [4]
    assert talk.asked[0].url.params["cursor"] == "a"
