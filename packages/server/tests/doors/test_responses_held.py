"""Calls of the Responses API that are held no longer, or that are refused at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.doors.test_responses import JOB, MODEL, create, native, script
from tests.e2e.server import KEY, AgentServer
from tests.libraries import openai


@pytest.fixture(scope="module")
def impatient(start_server: Callable[..., AgentServer]) -> Iterator[openai.OpenAI]:
    """A client of a server which holds a call for half a second: for calls that last longer."""
    server = start_server(door_wait_seconds=0.5)
    with openai.OpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY, max_retries=0) as made:
        yield made


@pytest.fixture
def poor(start_server: Callable[..., AgentServer]) -> Iterator[openai.OpenAI]:
    """A client of a server without credits."""
    server = start_server(bootstrap_credits=0)
    with openai.OpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY, max_retries=0) as made:
        yield made


@pytest.fixture
def narrow(start_server: Callable[..., AgentServer]) -> Iterator[openai.OpenAI]:
    """A client of a server which holds one call, as long as the test takes."""
    server = start_server(streams_max=1)
    with openai.OpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY, max_retries=0) as made:
        yield made


def test_a_call_is_answered_when_it_was_held_long_enough(impatient: openai.OpenAI) -> None:
    text = script(["gate", "late"], ["reply", "x"])
    assert create(impatient, input=text).status == "in_progress"
    with create(impatient, input=text, stream=True) as stream:
        last = list(stream)[-1]
    assert (last.type, last.response.status) == ("response.in_progress", "in_progress")


def test_what_waits_for_credits_is_queued_and_answered_at_once(poor: openai.OpenAI) -> None:
    text = script(["start", "Report", [["step", "x", 5], *JOB]])
    answer = create(poor, input=text)
    assert answer.status == "queued"
    assert native(answer)["resume"] == "add_credits"
    with create(poor, input=text, stream=True) as stream:
        assert list(stream)[-1].type == "response.queued"


def test_an_account_holds_only_so_many_calls(narrow: openai.OpenAI) -> None:
    text = script(["gate", "late"], ["reply", "x"])
    with create(narrow, input=text, stream=True) as stream:
        next(iter(stream))
        with pytest.raises(openai.RateLimitError) as refused:
            create(narrow, input="hi")
        assert create(narrow, input="hi", background=True).id
    assert refused.value.response.headers["retry-after"]


def test_pages_of_other_origins_are_refused(impatient: openai.OpenAI) -> None:
    answer = httpx2.post(
        f"{impatient.base_url}responses",
        headers={"Origin": "https://evil.example", "Authorization": f"Bearer {KEY}"},
        json={"model": MODEL, "input": "hi"},
    )
    assert answer.status_code == 403
