"""`follow` over event streams: resuming, servers without them, and proxies that keep them back."""

import json
from typing import Any

import httpx2
import pytest

from agentpost_client import BadAnswer, ConnectionFailed, TextDelta, TextReset, webhooks
from agentpost_client.errors import NotFound, Unauthorized
from agentpost_client.sse import EventLines, ServerEvent
from tests.client.scripted import Talk, answer, message, page, refusal

BEGIN = "retry: 1000\n\n"
END = "event: end\ndata: {}\n\n"


@pytest.fixture
def talk(talk: Talk) -> Talk:
    talk.has_streams = True
    return talk


def entry(seq: int) -> str:
    value = {"seq": seq, "type": "progress", "step": f"step {seq}"}
    return f"id: c{seq}\nevent: progress\ndata: {json.dumps(value)}\n\n"


def stream(*events: str) -> httpx2.Response:
    text = BEGIN + "".join(events)
    return httpx2.Response(200, text=text, headers={"Content-Type": "text/event-stream"})


def seqs(entries: list[Any]) -> list[int]:
    return [each.seq for each in entries]


async def test_entries_come_until_the_end_with_their_cursors(talk: Talk) -> None:
    talk.script = [stream(entry(1), ": still there\n\n", entry(2), END)]
    entries = [(each.seq, each.cursor, each.step) for each in await talk("follow", "msg_1")]
    assert entries == [(1, "c1", "step 1"), (2, "c2", "step 2")]
    (request,) = talk.asked
    assert request.url.path == "/v1/messages/msg_1/stream"
    assert request.headers["Accept"] == "text/event-stream"
    assert "Last-Event-ID" not in request.headers


async def test_a_stream_that_breaks_goes_on_where_it_was(talk: Talk) -> None:
    talk.script = [
        stream(entry(1), entry(2)),
        httpx2.ReadError("reset"),
        refusal(503, "unavailable"),
        stream(entry(3), END),
    ]
    assert seqs(await talk("follow", "msg_1")) == [1, 2, 3]
    given = [request.headers.get("Last-Event-ID") for request in talk.asked]
    assert given == [None, "c2", "c2", "c2"]
    assert talk.pauses == [0.5, 1.0, 2.0]


async def test_a_stream_begins_at_a_cursor_and_repeats_nothing(talk: Talk) -> None:
    talk.script = [stream(entry(2), entry(3), END)]
    assert seqs(await talk("follow", "msg_1", cursor="c1", after=2)) == [3]
    assert talk.asked[0].headers["Last-Event-ID"] == "c1"


async def test_what_has_no_place_in_the_log_is_left_out(talk: Talk) -> None:
    delta = 'event: text_delta\ndata: {"text": "Hel"}\n\n'
    expired = "event: cursor_expired\ndata: {}\n\n"
    talk.script = [stream(expired, delta, entry(1), END)]
    assert seqs(await talk("follow", "msg_1")) == [1]


async def test_text_comes_while_it_is_written(talk: Talk) -> None:
    talk.script = [
        stream(
            'event: delta\ndata: {"text": "Hel", "offset": 0}\n\n',
            'event: delta\ndata: {"text": "x", "offset": 0, "job_id": "exe_1"}\n\n',
            'event: reset\ndata: {"job_id": "exe_1"}\n\n',
            "event: reset\ndata: {}\n\n",
            "event: of_tomorrow\ndata: {}\n\n",
            entry(1),
            END,
        )
    ]
    parts = await talk("messages.stream", "msg_1")
    assert parts[:4] == [
        TextDelta(text="Hel"),
        TextDelta(text="x", job_id="exe_1"),
        TextReset(job_id="exe_1"),
        TextReset(),
    ]
    assert seqs(parts[4:]) == [1]


async def test_a_line_separator_in_a_text_ends_no_line(talk: Talk) -> None:
    text = "one\u2028two\x85three\x0cfour"
    data = json.dumps({"text": text, "offset": 0}, ensure_ascii=False)
    talk.script = [stream(f"event: delta\ndata: {data}\n\n", END)]
    assert await talk("messages.stream", "msg_1") == [TextDelta(text=text)]


# --- sent and read along --------------------------------------------------------------------------
BUSY_ENTRY = 'id: c1\nevent: turn_busy\ndata: {"seq": 1, "type": "turn_busy"}\n\n'
OPEN = message("processing", final=False)


def delta(text: str, offset: int = 0) -> str:
    return f"event: delta\ndata: {json.dumps({'text': text, 'offset': offset})}\n\n"


async def test_a_message_is_sent_and_its_reply_comes_while_it_is_written(talk: Talk) -> None:
    talk.script = [
        httpx2.ReadError("reset"),
        answer(OPEN, 201),
        stream(delta("Hel")),
        httpx2.ReadError("reset"),
        stream("event: reset\ndata: {}\n\n", entry(1), END),
        answer(message(reply="Hello")),
    ]
    given = {"conversation": "c", "idempotency_key": "order-1"}
    first, text, reset, line, last = await talk("send_and_stream", "Hi", **given)
    assert (first.id, first.final) == ("msg_1", False)
    assert (text, reset) == (TextDelta(text="Hel"), TextReset())
    assert (line.seq, line.cursor, last.reply, last.final) == (1, "c1", "Hello", True)
    sent = talk.asked[:2]
    assert {str(request.url) for request in sent} == {"http://server.test/v1/messages?wait=0"}
    assert {request.headers["Idempotency-Key"] for request in sent} == {"order-1"}
    assert talk.asked[2].url.path == "/v1/messages/msg_1/stream"


async def test_an_agent_that_was_busy_is_asked_again_and_nothing_is_repeated(talk: Talk) -> None:
    busy = message("failed", reason="agent_busy", retry_after_seconds=15)
    talk.script = [
        answer(OPEN, 201),
        stream(BUSY_ENTRY, END),
        answer(busy),
        answer(OPEN),
        stream(BUSY_ENTRY, entry(2), END),
        answer(message()),
    ]
    parts = await talk("messages.send_and_stream", "Hi")
    kinds = [type(part).__name__ for part in parts]
    assert kinds == ["Message", "Entry", "Message", "Entry", "Message"]
    assert [parts[1].seq, parts[3].seq] == [1, 2]
    assert talk.pauses == [15]
    posts = [request for request in talk.asked if request.method == "POST"]
    assert len({request.headers["Idempotency-Key"] for request in posts}) == 1
    assert talk.asked[4].headers["Last-Event-ID"] == "c1"


async def test_a_message_that_may_not_wait_is_busy_once(talk: Talk) -> None:
    busy = message("failed", reason="agent_busy")
    talk.script = [answer(busy, 201), stream(BUSY_ENTRY, END), answer(busy)]
    parts = await talk("send_and_stream", "Hi", busy="fail")
    assert parts[-1].is_agent_busy


async def test_a_server_that_streams_nothing_is_polled_for_what_was_sent(talk: Talk) -> None:
    done = message(reply="Hello")
    older = [refusal(404, "not_found"), answer(page(1, done=True))]
    talk.script = [answer(done, 201), *older, answer(done)]
    first, line, last = await talk("send_and_stream", "Hi")
    assert (first.reply, line.seq, last.reply) == ("Hello", 1, "Hello")


@pytest.mark.parametrize(
    "instead",
    [
        refusal(404, "not_found"),
        refusal(405, "method_not_allowed"),
        answer({}),
        httpx2.ReadTimeout("kept back"),
    ],
    ids=["older server", "older server's route", "proxy's page", "proxy that keeps it back"],
)
async def test_without_streams_it_polls(
    talk: Talk, instead: httpx2.Response | httpx2.RequestError
) -> None:
    talk.script = [instead, answer(page(1, cursor="a", done=True))]
    assert seqs(await talk("follow", "msg_1", cursor="x")) == [1]
    assert talk.asked[1].url.path == "/v1/messages/msg_1/events"
    assert talk.asked[1].url.params["cursor"] == "x"


async def test_a_message_that_is_not_there_is_reported(talk: Talk) -> None:
    talk.script = [refusal(404, "not_found"), refusal(404, "not_found")]
    with pytest.raises(NotFound):
        await talk("follow", "msg_1")


async def test_a_refusal_in_the_middle_ends_it(talk: Talk) -> None:
    talk.script = [stream(entry(1)), refusal(401, "unauthorized")]
    with pytest.raises(Unauthorized):
        await talk("follow", "msg_1")


async def test_a_server_that_stays_away_is_given_up(talk: Talk) -> None:
    tries = talk.policy.retries_while_following
    talk.script = [stream(entry(1)), *[httpx2.ConnectError("refused") for _ in range(tries)]]
    with pytest.raises(ConnectionFailed, match="refused"):
        await talk("follow", "msg_1")


async def test_an_event_that_is_no_entry_is_reported(talk: Talk) -> None:
    talk.script = [stream('id: c\ndata: {"type": "progress"}\n\n')]
    with pytest.raises(BadAnswer, match="seq"):
        await talk("follow", "msg_1")


def event(number: int, kind: str = "message.completed") -> str:
    data = {"id": "msg_1", "status": "completed", "final": True}
    value = {"id": f"evt_{number}", "type": kind, "data": data}
    return f"id: c{number}\nevent: {kind}\ndata: {json.dumps(value)}\n\n"


GONE = refusal(401, "unauthorized")
"""Ends what has no end by itself."""


async def test_events_of_the_account_come_as_of_webhooks(talk: Talk) -> None:
    talk.script = [stream("id: c0\n\n"), stream(event(1), event(2, "comet.seen")), GONE]
    seen: list[Any] = []
    with pytest.raises(Unauthorized):
        await talk.each(
            seen.append, "events.follow", types=["message.completed"], conversation="anna"
        )
    assert [(each.id, each.type, each.cursor) for each in seen] == [
        ("evt_1", "message.completed", "c1"),
        ("evt_2", "comet.seen", "c2"),
    ]
    assert isinstance(seen[0], webhooks.MessageEvent)
    assert isinstance(seen[1], webhooks.UnknownEvent)
    given = [request.headers.get("Last-Event-ID") for request in talk.asked]
    assert given == [None, "c0", "c2"]
    wanted = {"types": "message.completed", "conversation": "anna"}
    assert [dict(request.url.params) for request in talk.asked] == [wanted] * 3


async def test_events_are_polled_where_streams_are_kept_back(talk: Talk) -> None:
    def one(number: int) -> dict[str, Any]:
        return json.loads(event(number).partition("data: ")[2])  # type: ignore[no-any-return]

    talk.script = [
        httpx2.ReadTimeout("kept back"),
        answer({"data": [one(1), one(2)], "cursor": "b", "has_more": True}),
        httpx2.ReadError("reset"),
        answer({"data": [one(3)], "cursor": "c"}),
        GONE,
    ]
    seen: list[Any] = []
    with pytest.raises(Unauthorized):
        await talk.each(seen.append, "events.follow", cursor="a")
    places = [(each.id, each.cursor) for each in seen]
    assert places == [("evt_1", "a"), ("evt_2", "b"), ("evt_3", "c")]
    given = [request.url.params.get("cursor") for request in talk.asked]
    assert given == [None, "a", "b", "b", "c"]


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        (["data: a", ""], [ServerEvent("message", "a", None)]),
        (["data:a", "data: b", ""], [ServerEvent("message", "a\nb", None)]),
        (["event: x", ""], []),
        (["id: 7", ""], [ServerEvent("message", "", "7")]),
        ([": comment", "", "retry: 10", "other: 1", ""], []),
        (["id: a\0b", "data: c", ""], [ServerEvent("message", "c", None)]),
        (["event: x", "data: a", "", "data: b", ""], [
            ServerEvent("x", "a", None), ServerEvent("message", "b", None)
        ]),
    ],
)  # fmt: skip
def test_lines_become_events(lines: list[str], events: list[ServerEvent]) -> None:
    reader = EventLines()
    assert [event for line in lines if (event := reader.feed(line)) is not None] == events
