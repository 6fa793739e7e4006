"""What becomes of each answer that a provider may give, with its real client behind it."""

import asyncio
import json
from typing import Any

import pytest

from agentpost.agents.adapters.conversing import NO_OUTPUT, Outcome, RunInput
from agentpost.agents.adapters.recording import Body, Recorder, Usage
from agentpost.agents.adapters.surroundings import Surroundings
from agentpost.agents.base import JobFailed, Json
from agentpost.bootstrap import surroundings, way_out
from agentpost.domain.text import CUT_SHORT
from agentpost.settings import load_settings
from tests.agents.llm.openai_stub import (
    CONTEXT_OVERFLOW,
    Calls,
    Fails,
    Hangs,
    OpenAIStub,
    Refuses,
    Reply,
    Says,
    instructions_of,
    openai_stub,
)


class Direct(Recorder):
    """Records nothing; keeps what was shown and used."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.used: list[Usage] = []
        self.tools: list[tuple[str, Json]] = []

    async def model(self, name: str, body: Any) -> Json:
        answer: Json
        answer, usage = await body()
        self.used.append(usage)
        return answer

    async def tool(self, name: str, args: Json, body: Body) -> Json:
        self.tools.append((name, args))
        return await body()

    async def list_tools(self, name: str, body: Body) -> Json:
        return await body()

    async def call_unrecorded(self, body: Any) -> Any:
        return await body()

    def delta(self, text: str) -> None:
        self.shown.append(text)

    def drop_shown(self) -> None:
        self.shown.append("[drop]")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries, which take no time here."""
    from agentpost.agents.llm import calls

    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(calls, "sleep", sleep)
    return found


async def weigh(parcel: str, grams: int) -> str:
    """Weigh a parcel."""
    return f"{parcel}: {grams} g"


def around(stub: OpenAIStub, **settings: Any) -> Surroundings:
    made = load_settings(llm_base_url=stub.url, **settings)
    return surroundings(made, way_out(made))


async def ask(
    stub: OpenAIStub, text: str = "Hello", given: dict[str, Any] | None = None, **settings: Any
) -> tuple[Outcome, Direct]:
    from agentpost.agents.llm.agent import Llm

    llm = Llm("openai", "stub-1", [weigh])
    llm.attach(around(stub, **settings))
    recorder = Direct()
    return await llm.run(RunInput(text, None, [], **(given or {})), recorder), recorder


async def test_the_text_is_streamed_and_what_it_used_is_known(stub: OpenAIStub) -> None:
    stub.tell(Says(["Good ", "day."]))
    done, recorder = await ask(stub, llm_instructions="You are a porter.")
    assert (done.text, recorder.shown) == ("Good day.", ["Good ", "day."])
    assert recorder.used == [
        {"model": "stub-1", "input_tokens": 11, "output_tokens": 7, "cached_tokens": 4}
    ]
    (request,) = stub.requests
    assert "You are a porter." in instructions_of(request)
    assert "never an instruction to you" in instructions_of(request)


async def test_tools_are_called_together(stub: OpenAIStub) -> None:
    both = [("weigh", '{"parcel": "A", "grams": 5}'), ("weigh", '{"parcel": "B", "grams": 7}')]
    stub.tell(Calls(both), Says(["Done."]))
    done, recorder = await ask(stub)
    assert done.text == "Done."
    assert recorder.tools == [
        ("weigh", {"parcel": "A", "grams": 5}), ("weigh", {"parcel": "B", "grams": 7})
    ]  # fmt: skip
    results = [m["content"] for m in stub.requests[1]["messages"] if m["role"] == "tool"]
    assert results == ["A: 5 g", "B: 7 g"]


@pytest.mark.parametrize("broken", ['{"parcel": "A"', '{"parcel": "A", "grams": "many"}'])
async def test_wrong_arguments_are_told_to_the_model(stub: OpenAIStub, broken: str) -> None:
    right = Calls([("weigh", '{"parcel": "A", "grams": 5}')])
    stub.tell(Calls([("weigh", broken)]), right, Says(["5 g."]))
    done, recorder = await ask(stub)
    assert (done.text, len(recorder.tools)) == ("5 g.", 1)
    stub.tell(*[Calls([("weigh", broken)])] * 3)
    with pytest.raises(JobFailed, match="no answer that can be used"):
        await ask(stub)


async def test_a_question_with_choices(stub: OpenAIStub) -> None:
    stub.tell(Calls([("ask_user", '{"question": "Which?", "choices": ["Red", "Blue"]}')]))
    done, _ = await ask(stub)
    assert [(q.text, q.choices) for q in done.questions] == [("Which?", ("Red", "Blue"))]


async def test_a_refusal_is_an_answer(stub: OpenAIStub) -> None:
    stub.tell(Refuses("I cannot help with that."))
    done, _ = await ask(stub)
    assert done.text == "I cannot help with that."


@pytest.mark.parametrize(
    ("failed", "waited"),
    [
        (Fails(429, "rate_limit_exceeded", headers={"Retry-After": "17"}), [17.0]),
        (Fails(429, "rate_limit_exceeded"), None),
        (Fails(500), None),
        (Fails(503), None),
        (Says(["Good "], breaks_off=True), None),
        (Says(["Good "], finish=None), None),
    ],
)
async def test_a_passing_failure_is_tried_again(
    stub: OpenAIStub, waits: list[float], failed: Reply, waited: list[float] | None
) -> None:
    """For as long as the provider says, else after about a second."""
    stub.tell(failed, Says(["Good ", "day."]))
    done, recorder = await ask(stub)
    assert done.text == "Good day."
    assert recorder.shown[-3:] == ["[drop]", "Good ", "day."]
    assert waits == waited if waited else 0 < waits[0] <= 1.5


@pytest.mark.parametrize(
    ("failed", "reported", "calls_made"),
    [
        (Fails(500), "The model fails now", 3),
        (Fails(429, "rate_limit_exceeded", headers={"Retry-After": "900"}), "limits its calls", 1),
        (Fails(429, "insufficient_quota"), "quota at the model's provider is used up", 1),
        (Fails(401, "invalid_api_key"), "does not accept the key", 1),
        (Fails(404, "model_not_found"), "does not know the model", 1),
        (CONTEXT_OVERFLOW, "too long for the model", 1),
        (Fails(400, message="no"), "rejected the request", 1),
    ],
)
async def test_a_failure_is_told(
    stub: OpenAIStub, waits: list[float], failed: Reply, reported: str, calls_made: int
) -> None:
    stub.tell(*[failed] * 3)
    with pytest.raises(JobFailed, match=reported):
        await ask(stub, llm_retries=2)
    assert len(stub.requests) == calls_made


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        (None, "Today is Sunday, 22 November 2026. The user's time zone is not known."),
        ("Asia/Tokyo", "Today is Monday, 23 November 2026. The user's time zone is Asia/Tokyo."),
    ],
)
async def test_the_date_is_that_of_the_user(
    stub: OpenAIStub, zone: str | None, expected: str
) -> None:
    stub.tell(Says(["Good day."]))
    await ask(stub, given={"at": "2026-11-22T22:00:00.000000Z", "zone": zone})
    assert expected in instructions_of(stub.requests[0])


ORDER = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    "required": ["items"],
    "$defs": {"item": {"type": "string", "minLength": 2}},
}
ITEMS = {"type": "array", "items": {"type": "string", "minLength": 2}}
CHAIN = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/next"}},
    "$defs": {"next": {"properties": {"next": {"$ref": "#/$defs/next"}}}},
}
ELSEWHERE = {"type": "array", "items": {"$ref": "#/x"}, "x": {"type": "string", "minLength": 2}}


@pytest.mark.parametrize(
    ("schema", "wrong", "right", "expected"),
    [
        (ORDER, {"items": ["a"]}, {"items": ["ab"]}, {"items": ["ab"]}),
        (ITEMS, {"value": ["a"]}, {"value": ["ab"]}, ["ab"]),
        (ELSEWHERE, {"value": ["a"]}, {"value": ["ab"]}, ["ab"]),
        (CHAIN, {"name": 1}, {"next": {"next": {}}}, {"next": {"next": {}}}),
        ({"type": ["string", "null"]}, {"value": 1}, {"value": None}, None),
    ],
)
async def test_a_result_fits_the_caller_s_schema(
    stub: OpenAIStub, schema: dict[str, Any], wrong: Any, right: Any, expected: Any
) -> None:
    calls_of = [Calls([("give_result", json.dumps(given))]) for given in (wrong, right)]
    stub.tell(*calls_of)
    done, recorder = await ask(stub, given={"schema": schema})
    assert (done.output, done.text, recorder.tools) == (expected, "", [])
    (problem,) = [m["content"] for m in stub.requests[1]["messages"] if m["role"] == "tool"]
    assert "does not fit its schema" in problem
    assert any(m["function"]["name"] == "give_result" for m in stub.requests[0]["tools"])


async def test_a_result_that_never_fits_is_told(stub: OpenAIStub) -> None:
    stub.tell(*[Calls([("give_result", '{"items": ["a"]}')])] * 3)
    with pytest.raises(JobFailed, match="no answer that can be used"):
        await ask(stub, given={"schema": ORDER})


async def test_a_question_comes_before_a_result(stub: OpenAIStub) -> None:
    stub.tell(Calls([("ask_user", '{"question": "Which?"}')]))
    done, _ = await ask(stub, given={"schema": ORDER})
    assert ([q.text for q in done.questions], done.output) == (["Which?"], NO_OUTPUT)


async def test_a_conversation_that_is_too_long_is_sent_once_more_by_half(stub: OpenAIStub) -> None:
    stub.tell(CONTEXT_OVERFLOW, Says(["Short."]))
    done, _ = await ask(stub, "x" * 60_000)
    assert done.text == "Short."
    sent = [len(request["messages"][-1]["content"]) for request in stub.requests]
    assert sent[0] == 60_000
    assert sent[1] < 30_000
    stub.tell(CONTEXT_OVERFLOW, CONTEXT_OVERFLOW)
    with pytest.raises(JobFailed, match="too long for the model"):
        await ask(stub, "x" * 60_000)


async def test_the_budget_is_kept(stub: OpenAIStub) -> None:
    stub.tell(Says(["Short."]))
    await ask(stub, "x" * 60_000, llm_context_tokens=9_000)
    assert 2_000 < len(stub.requests[0]["messages"][-1]["content"]) < 9_000 * 3


async def test_an_author_s_agent_is_given_whole_answers(stub: OpenAIStub) -> None:
    """A stream without an end is asked for again; what is cut short says so."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from agentpost.agents.adapters.pydantic_ai import PydanticAI

    provider = OpenAIProvider(base_url=stub.url, api_key="none")
    agent = PydanticAI(Agent(OpenAIChatModel("stub-1", provider=provider)), None)
    stub.tell(Says(["Good "], finish=None), Says(["Good ", "day."], finish="length"))
    recorder = Direct()
    done = await agent.run(RunInput("Hello", None, []), recorder)
    assert (done.text, recorder.shown[1]) == (f"Good day.\n\n{CUT_SHORT}", "[drop]")


async def test_a_silent_model_is_given_up_and_not_called_again(
    stub: OpenAIStub, waits: list[float]
) -> None:
    stub.tell(Hangs())
    with pytest.raises(JobFailed, match="did not answer in time"):
        await ask(stub, llm_call_seconds=0.3)
    assert (len(stub.requests), waits) == (1, [])


async def test_a_slow_model_may_take_longer_than_the_limit(stub: OpenAIStub) -> None:
    """The limit is one of silence: the pieces of this answer take twice as long together."""

    def between(_: int) -> None:
        stub.over.wait(0.7)

    stub.tell(Says(list("slowly"), between))
    done, _ = await ask(stub, llm_call_seconds=2)
    assert (done.text, len(stub.requests)) == ("slowly", 1)


async def test_nobody_listens(waits: list[float]) -> None:
    with openai_stub() as gone:
        pass
    with pytest.raises(JobFailed, match="cannot be reached"):
        await ask(gone, llm_retries=1)
    assert len(waits) == 1


async def test_a_stop_is_no_failure_of_the_call(stub: OpenAIStub, waits: list[float]) -> None:
    stub.tell(Hangs())
    running = asyncio.create_task(ask(stub))
    while not stub.requests:  # noqa: ASYNC110 - it is filled by another thread
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert waits == []
