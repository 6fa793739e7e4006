"""What is tried again, how often, and after how long (spec: Errors advice)."""

from dataclasses import replace

import httpx2
import pytest

from agentpost_client import ApiError, BadAnswer, ConnectionFailed, RetryPolicy
from tests.client.scripted import Talk, answer, message, refusal

ME = {"user_id": "usr_1", "object": "account"}


@pytest.mark.rule("Errors advice")
@pytest.mark.parametrize(
    "trouble",
    [
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("slow"),
        refusal(429, "rate_limited"),
        refusal(500, "internal"),
        refusal(503, "unavailable"),
    ],
    ids=lambda trouble: getattr(trouble, "status_code", type(trouble).__name__),
)
async def test_a_failure_that_can_pass_is_tried_again(
    talk: Talk, trouble: httpx2.RequestError | httpx2.Response
) -> None:
    talk.script = [trouble, answer(ME)]
    assert (await talk("me")).user_id == "usr_1"
    assert talk.pauses == [0.5]


@pytest.mark.rule("Errors advice")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 422, 501, 502, 504])
async def test_every_other_refusal_is_final(talk: Talk, status: int) -> None:
    talk.script = [refusal(status, "some_code")]
    with pytest.raises(ApiError):
        await talk("me")
    assert talk.pauses == []


async def test_a_request_that_cannot_be_made_is_not_tried_again(talk: Talk) -> None:
    talk.script = [httpx2.LocalProtocolError("bad header")]
    with pytest.raises(ConnectionFailed):
        await talk("me")


async def test_giving_up_raises_the_last_trouble(talk: Talk) -> None:
    talk.script = [httpx2.ConnectError("refused") for _ in range(talk.policy.retries + 1)]
    with pytest.raises(ConnectionFailed, match=r"No answer from http://server.test: .*refused"):
        await talk("me")
    assert talk.pauses == [0.5, 1, 2, 4]


@pytest.mark.rule("Errors advice")
async def test_retry_after_is_obeyed_and_jitter_comes_on_top(talk: Talk) -> None:
    refused = refusal(429, "rate_limited")
    refused.headers["Retry-After"] = "7"
    talk.script = [refused, answer(ME)]
    await talk("me")
    assert talk.pauses == [7.5]


async def test_a_retry_after_too_far_off_is_left_to_the_caller(talk: Talk) -> None:
    refused = refusal(429, "rate_limited")
    refused.headers["Retry-After"] = "3600"
    talk.script = [refused]
    with pytest.raises(ApiError) as caught:
        await talk("me")
    assert caught.value.retry_after == 3600


async def test_a_post_without_a_key_is_sent_once(talk: Talk) -> None:
    talk.script = [httpx2.ReadError("reset")]
    with pytest.raises(ConnectionFailed):
        await talk("stop", "wrk_1")


async def test_a_wait_is_patient_with_a_server_that_had_answered(talk: Talk) -> None:
    tries = talk.policy.retries_while_following
    assert tries > talk.policy.retries
    talk.script = [
        answer(message("processing", final=False)),
        *[httpx2.ConnectError("refused") for _ in range(tries)],
        answer(message()),
    ]
    assert (await talk("wait", "msg_1")).final


def test_backoff_is_a_random_part_of_a_doubling_time() -> None:
    parts = iter([0.0, 0.25, 1.0])
    policy = replace(RetryPolicy(), jitter=lambda: next(parts))
    assert [policy.backoff(attempt) for attempt in (3, 3, 30)] == [0.0, 1.0, 8.0]


async def test_an_error_of_something_in_between_is_reported_by_its_status(talk: Talk) -> None:
    talk.script = [httpx2.Response(502, text="<html>Bad gateway</html>")]
    with pytest.raises(ApiError) as caught:
        await talk("me")
    assert caught.value.code == "http_502"


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (httpx2.Response(200, text="<html>"), "not JSON"),
        (httpx2.Response(200, json=[1]), "not a Account"),
        (httpx2.Response(200, json={"email": "a@b.c"}), "user_id"),
        (httpx2.Response(301, headers={"Location": "https://server.test"}), "redirect"),
    ],
    ids=["page", "list", "field", "redirect"],
)
async def test_an_answer_of_something_else_is_reported(
    talk: Talk, wrong: httpx2.Response, text: str
) -> None:
    talk.script = [wrong]
    with pytest.raises(BadAnswer, match=text):
        await talk("me")
