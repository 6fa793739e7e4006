"""How a client is made and changed, what it logs, and what its errors say."""

import logging
import pickle
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from agentpost_client import ApiError, AsyncClient, Client, ConfigError, RetryPolicy, errors
from agentpost_client.errors import error_class
from agentpost_client.refusals import BY_CODE
from agentpost_client.wire import host_of
from tests.client.scripted import KEY, URL, Talk, answer, message, refusal, served

ME = {"user_id": "usr_1", "object": "account"}


def counting(asked: list[httpx2.Request], *answers: httpx2.Response) -> httpx2.Client:
    """An HTTP client that gives these answers in turn, the last one again and again."""
    left = list(answers)

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        given = left.pop(0) if len(left) > 1 else left[0]
        return httpx2.Response(given.status_code, headers=given.headers, content=given.content)

    return httpx2.Client(transport=httpx2.MockTransport(handle))


def test_options_change_a_copy_with_the_same_connections() -> None:
    asked: list[httpx2.Request] = []
    down = refusal(503, "unavailable")
    client = Client(URL, KEY, http_client=counting(asked, down), sleep=lambda _: None)
    hasty = client.with_options(timeout=3, max_retries=0)
    with hasty, pytest.raises(errors.Unavailable):
        hasty.me()
    (request,) = asked
    assert request.extensions["timeout"]["read"] == 3
    with pytest.raises(errors.Unavailable):
        client.me()
    assert len(asked) == 2 + RetryPolicy().retries
    assert asked[-1].extensions["timeout"]["read"] == 60


def test_a_given_http_client_is_used_and_left_open() -> None:
    asked: list[httpx2.Request] = []
    http = counting(asked, answer(ME))
    with Client(URL, KEY, http_client=http) as client:
        client.me()
    assert not http.is_closed
    assert asked[0].headers["User-Agent"].startswith("agentpost-python/")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"max_retries": -1}, "max_retries is -1"),
        ({"url": "localhost:8080", "key": "a b"}, "http://"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_that_cannot_work_is_not_made(
    kind: type[Client] | type[AsyncClient], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        kind(**{"url": URL, "key": KEY, **options})


@pytest.mark.parametrize("seconds", [float("inf"), 1e12])
async def test_any_silence_can_be_allowed(talk: Talk, seconds: float) -> None:
    """Also one for which no system has a timer."""
    with served(Starlette(routes=[Route("/v1/me", lambda _: JSONResponse(ME))])) as url:
        if talk.is_async:
            async with AsyncClient(url, KEY, timeout=seconds) as client:
                assert (await client.me()).user_id == "usr_1"
        else:
            assert Client(url, KEY, timeout=seconds).me().user_id == "usr_1"


@pytest.mark.parametrize(
    ("link", "host"),
    [
        ("https://files.test/a?sig=hidden", "https://files.test"),
        ("http://[::1]:8080/a", "http://[::1]:8080"),
        ("http://user:hidden@files.test:1/a", "http://files.test:1"),
    ],
)
def test_of_a_link_only_the_host_is_shown(link: str, host: str) -> None:
    assert host_of(link) == host


async def test_retries_are_logged_without_secrets(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "agentpost_client")
    file = {"file_id": "w/a", "name": "a", "url": "https://files.test/a?sig=hidden"}
    talk.script = [refusal(429, "rate_limited"), answer(file, Request_Id="req_7")]
    await talk("file", "w/a")
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "GET /v1/files/w/a 429 req_1 30000 ms",
        "Retrying in 0.5 s: GET /v1/files/w/a, retry 1 (too many requests)",
        "GET /v1/files/w/a 200 req_7 30000 ms",
    ]
    assert KEY not in caplog.text
    assert "sig" not in caplog.text


def test_every_code_has_its_class() -> None:
    assert {code: error_class(code) for code in BY_CODE} == BY_CODE
    assert error_class("of_tomorrow") is ApiError
    for kind in BY_CODE.values():
        assert kind.hint
        assert getattr(errors, kind.__name__) is kind


async def test_an_error_says_what_to_do_and_whom_to_ask(talk: Talk) -> None:
    problems = [{"field": "limit", "problem": "must be at most 50"}, {"field": None}]
    talk.script = [refusal(400, "invalid_request", problems=problems)]
    with pytest.raises(errors.InvalidRequest) as caught:
        await talk("work.list", 99)
    error = caught.value
    values = (error.code, error.message, error.status, error.request_id)
    assert values == ("invalid_request", "About invalid_request.", 400, "req_1")
    assert [problem.field for problem in error.problems] == ["limit", None]
    text = str(error)
    assert text.startswith("invalid_request: About invalid_request. [limit: must be at most 50")
    assert text.endswith("(req_1)")
    assert KEY not in text
    assert error.__notes__ == [f"What to do: {error.hint}"]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), type(again), again.problems) == (text, type(error), error.problems)


async def test_only_what_surely_did_nothing_is_repeated(talk: Talk) -> None:
    """Of calls that make something new each time."""
    refused = refusal(429, "rate_limited")
    refused.headers["Retry-After"] = "3"
    talk.script = [refused, answer({"id": "whe_1", "url": "https://x", "secret": "s"}, 201)]
    assert (await talk("webhooks.create", "https://x")).secret == "s"
    assert talk.pauses == [3.5]
    talk.script = [refusal(503, "unavailable")]
    with pytest.raises(errors.Unavailable):
        await talk("webhooks.create", "https://x")


async def test_send_and_wait_asks_no_more_than_needed(talk: Talk) -> None:
    talk.script = [answer(message(reply="Done."), 201)]
    assert (await talk("send_and_wait", "Hi")).reply == "Done."
    talk.script = [answer(message("processing", final=False), 201), answer(message())]
    assert (await talk("send_and_wait", "Hi", conversation="c", timeout=9)).final
    assert b'"conversation": "c"' in talk.asked[1].content
    assert [request.method for request in talk.asked] == ["POST", "POST", "GET"]


async def test_a_list_is_read_page_by_page(talk: Talk) -> None:
    def page(*ids: str, more: bool) -> httpx2.Response:
        data = [{"id": each, "event": "job.failed", "status": "failed"} for each in ids]
        return answer({"object": "list", "data": data, "has_more": more})

    talk.script = [page("e4", "e3", more=True), page("e2", more=True), page("e1", more=False)]
    found = await talk("webhooks.deliveries", "whe_1", status="failed", limit=2)
    assert [delivery.id for delivery in found] == ["e4", "e3", "e2", "e1"]
    assert [request.url.params.get("before") for request in talk.asked] == [None, "e3", "e2"]


async def test_nothing_newer_gives_the_message_that_is_known(talk: Talk) -> None:
    talk.script = [answer(message("processing", final=False, version=4))]
    known = await talk("messages.get", "msg_1")
    talk.script = [httpx2.Response(304, headers={"ETag": '"v4"'})]
    assert await talk("messages.get", "msg_1", wait=5, known=known) is known
    assert talk.asked[-1].headers["If-None-Match"] == '"v4"'


async def test_all_pages_of_a_text(talk: Talk) -> None:
    talk.script = [
        answer({"work_id": "w", "text": "one ", "next_from_char": 4}),
        answer({"work_id": "w", "text": "two", "next_from_char": None}),
    ]
    assert await talk("work.text", "w") == "one two"
    assert [request.url.params.get("from_char") for request in talk.asked] == [None, "4"]
