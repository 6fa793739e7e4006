"""The Responses API, through the official client; calls that are held no longer, or refused at
once; outputs that fit a schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from tests.e2e.agents import Script
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import KEY, AgentServer
from tests.libraries import openai
from tests.node import run_official
from tests.waiting import eventually

MODEL = "agentpost"
JOB: Script = [["write", "out/report.txt", "all is well"], ["return", "It is done."]]


def script(*operations: list[Any]) -> str:
    return json.dumps(operations)


def create(client: openai.OpenAI, **given: Any) -> Any:
    """A response; its class has too many kinds of outputs to name the one that comes."""
    return client.responses.create(**{"model": MODEL, **given})


def retrieve(client: openai.OpenAI, response_id: str) -> Any:
    """It again."""
    return client.responses.retrieve(response_id)


def native(response: openai.types.responses.Response) -> dict[str, Any]:
    """The message as the API itself shows it."""
    shown = (response.model_extra or {})["agentpost"]
    assert isinstance(shown, dict)
    return shown


def test_a_plain_answer(client: openai.OpenAI, caller: Caller) -> None:
    answer = create(client, input="good day", metadata={"case": "7"})
    assert (answer.status, answer.output_text) == ("completed", "You said: good day")
    assert answer.error is None
    assert answer.metadata == {"case": "7"}
    assert answer.usage is not None
    assert answer.usage.total_tokens == 0
    again = retrieve(client, answer.id)
    assert (again.status, again.output_text) == ("completed", "You said: good day")
    message = caller.get(native(answer)["id"])
    assert native(again)["reply"] == message["reply"]
    (asked,) = client.responses.input_items.list(answer.id).data
    assert asked.to_dict()["content"][0]["text"] == "good day"  # type: ignore[index]
    assert next(iter(client.models.list())).id == MODEL


def test_a_call_is_held_until_the_work_has_ended_and_its_file_is_read(
    client: openai.OpenAI,
) -> None:
    answer = create(client, input=script(["start", "Report", JOB]))
    assert answer.status == "completed"
    texts = [part.text for item in answer.output for part in item.content]
    assert texts == ["Report: running", "\n\nIt is done."]
    (cited,) = answer.output[1].content[0].annotations
    assert (cited.type, cited.filename) == ("container_file_citation", "report.txt")
    assert client.files.content(cited.file_id).text == "all is well"


def test_background_and_poll(server: AgentServer, client: openai.OpenAI) -> None:
    job = [["gate", "background"], *JOB]
    begun = create(client, input=script(["start", "Slow", job]), background=True)
    assert begun.status in ("queued", "in_progress")
    assert begun.background is True
    server.open_gate("background")
    ended = eventually(lambda: _ended(retrieve(client, begun.id)), what="the end of the response")
    assert (ended.status, ended.output[-1].content[0].text) == (
        "completed",
        "\n\nIt is done.",
    )


def _ended(response: Any) -> Any:
    return response if response.status not in ("queued", "in_progress") else None


def test_the_stream_has_the_documented_events_and_goes_on_where_it_was_cut_off(
    client: openai.OpenAI,
) -> None:
    text = script(["start", "Report", JOB])
    with create(client, input=text, stream=True) as stream:
        events = list(stream)
    kinds = [event.type.removeprefix("response.") for event in events]
    opened = ["output_item.added", "content_part.added", "output_text.delta"]
    closed = ["output_text.done", "content_part.done", "output_item.done"]
    assert kinds == [
        *("created", "in_progress"),
        *(*opened, *closed),
        *(*opened, "output_text.annotation.added", *closed),
        "completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "Report: running\n\nIt is done."
    with client.responses.retrieve(last.response.id, stream=True, starting_after=6) as rest:
        later = list(rest)
    assert [(e.sequence_number, e.type) for e in later] == [
        (e.sequence_number, e.type) for e in events[7:]
    ]


def text_of(events: list[Any]) -> str:
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def test_text_is_streamed_while_it_is_written(client: openai.OpenAI, server: AgentServer) -> None:
    """Of the turn and of the job; the stream continues in the middle of a text, with its
    numbers."""
    reply, half = "It is being worked on, as you can see.", "The sum of all the rows is 1,042. "
    job = [["delta", half], ["gate", "half"], ["delta", half], ["return", half + half]]
    text = script(["delta", reply], ["gate", "begun"], ["reply", reply], ["start", "Sums", job])
    with create(client, input=text, stream=True, background=True) as stream:
        first = taken_until(stream, "response.output_text.delta")
        server.open_gate("begun")
        first += taken_until(stream, "response.output_item.done")
        first += taken_until(stream, "response.output_text.delta")
    assert reply.startswith(first[4].delta)
    assert [event.sequence_number for event in first] == list(range(len(first)))
    assert (first[-1].output_index, first[-1].content_index) == (1, 0)
    assert f"\n\n{half}".startswith(first[-1].delta), (
        "the job holds at its gate: it was told meanwhile"
    )
    last = first[-1].sequence_number
    with client.responses.retrieve(
        first[0].response.id, stream=True, starting_after=last
    ) as stream:
        server.open_gate("half")
        rest: list[Any] = list(stream)
    assert rest[-1].type == "response.completed"
    with client.responses.retrieve(first[0].response.id, stream=True) as stream:
        whole: list[Any] = list(stream)
    numbered = [(event.sequence_number, event.type) for event in first + rest]
    assert numbered == [(event.sequence_number, event.type) for event in whole]
    assert text_of(whole) == f"{reply}\n\nSums: running\n\n{half}{half}".rstrip()
    assert text_of(first + rest) == text_of(whole)
    assert rest[-1].response.output_text == text_of(whole)


def taken_until(stream: Iterator[Any], kind: str) -> list[Any]:
    """The events up to the first of a kind."""
    taken: list[Any] = []
    while not taken or taken[-1].type != kind:
        taken.append(next(stream))
    return taken


def test_text_that_comes_to_nothing_is_closed(client: openai.OpenAI, server: AgentServer) -> None:
    """The client's helper refuses a stream that leaves an output open."""
    said = "Something that is not said in the end."
    job = [["gate", "left"], ["delta", said], ["gate", "told"], ["return", ""]]
    text = script(["start", "Sums", job])
    with client.responses.stream(model=MODEL, input=text) as stream:
        events = taken_until(stream, "response.output_item.done")
        server.open_gate("left")
        events += taken_until(stream, "response.output_text.delta")
        server.open_gate("told")
        events += list(stream)
    _, left = [event for event in events if event.type == "response.output_item.done"]
    assert left.item.status == "incomplete"
    assert events[-1].type == "response.completed"


def test_a_question_is_answered_with_the_next_response(client: openai.OpenAI) -> None:
    asked = create(client, input=script(["ask", "Which year?"]))
    assert (asked.status, asked.output_text) == ("completed", "Which year?")
    assert native(asked)["status"] == "needs_input"
    answer = create(client, input=script(["see"]), previous_response_id=asked.id)
    seen = json.loads(answer.output_text)
    assert ["agent", "Which year?"] in seen["history"]
    assert answer.previous_response_id == asked.id
    assert answer.conversation == asked.conversation


def test_each_response_has_its_own_past_unless_a_conversation_is_named(
    client: openai.OpenAI,
) -> None:
    def history(**more: Any) -> list[Any]:
        answer = create(client, input=script(["see"]), **more)
        found: list[Any] = json.loads(answer.output_text)["history"]
        return found

    assert history() == history() == history(conversation="ada") == []
    assert history(conversation={"id": "ada"}) != []


def test_failed_work_says_why_and_what_to_do(client: openai.OpenAI) -> None:
    job = [["fail", "The file has no column 'price'."]]
    answer = create(client, input=script(["start", "Sums", job]))
    assert answer.status == "failed"
    assert answer.error is not None
    assert answer.error.message.startswith("The file has no column 'price'.")
    both = script(["start", "Sums", job], ["start", "Report", JOB])
    answer = create(client, input=both)
    assert answer.status == "incomplete"
    assert answer.incomplete_details is not None
    assert answer.incomplete_details.reason == "execution_failed"
    assert answer.output[-1].content[0].text == "\n\nIt is done."


def test_cancel(client: openai.OpenAI) -> None:
    job = [["gate", "never"]]
    begun = create(client, input=script(["start", "Slow", job]), background=True)
    eventually(lambda: native(retrieve(client, begun.id))["jobs"], what="the job to be started")
    client.responses.cancel(begun.id)
    ended = eventually(lambda: _ended(retrieve(client, begun.id)), what="its end")
    assert (ended.status, ended.error.code) == ("cancelled", "cancelled")
    with client.responses.retrieve(begun.id, stream=True) as stream:
        last: Any = list(stream)[-1]
    assert (last.type, last.response.status) == ("response.failed", "cancelled")
    assert "It was stopped." in last.response.error.message


def test_a_response_is_deleted_once_it_has_ended(
    client: openai.OpenAI, server: AgentServer
) -> None:
    begun = create(client, input=script(["gate", "deleting"], ["reply", "x"]), background=True)
    with pytest.raises(openai.ConflictError) as early:
        client.responses.delete(begun.id)
    assert early.value.code == "not_final"
    assert client.responses.cancel(begun.id).status == "cancelled"
    client.responses.delete(begun.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(begun.id)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"tools": [{"type": "web_search"}]}, "tools", "unsupported_parameter"),
    ({"text": {"format": {"type": "grammar"}}}, "text.format.type", "unsupported_value"),
    (
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "wrong"}}}},
        "response_schema",
        "invalid_request",
    ),
    ({"extra_body": {"speed": 2}}, "speed", "unknown_parameter"),
    ({"model": "gpt-9"}, "model", "model_not_found"),
    ({"metadata": {"n": 1}}, "metadata.n", "invalid_request"),
    ({"conversation": "a", "previous_response_id": "resp_1"}, "previous_response_id",
     "invalid_request"),
    ({"previous_response_id": "resp_1"}, "previous_response_id", "invalid_request"),
    ({"input": [{"role": "assistant", "content": "hi"}]}, "input", "unsupported_value"),
    ({"input": [{"role": "judge", "content": "hi"}]}, "input[0].role", "unsupported_value"),
    ({"input": [{"type": "function_call", "id": "x"}]}, "input[0]", "unsupported_value"),
    ({"input": [{"type": {}}]}, "input[0]", "unsupported_value"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "param", "code"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_cannot_be_kept_is_refused(
    client: openai.OpenAI, given: dict[str, Any], param: str, code: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        create(client, **{"input": "good day", **given})
    assert (refused.value.param, refused.value.code) == (param, code)
    assert refused.value.type == "invalid_request_error"


def test_what_changes_no_answer_is_taken(client: openai.OpenAI) -> None:
    answer = create(
        client, input="hi", tools=[], temperature=1, truncation="auto", store=True, user="me"
    )
    assert answer.status == "completed"
    assert "ignored" not in native(answer)
    more = {"temperature": 0.2, "store": False, "reasoning": {"effort": "low"}, "include": []}
    answer = create(client, input="hi", tool_choice="auto", max_output_tokens=9, **more)
    assert answer.status == "completed"
    assert native(answer)["ignored"] == ["max_output_tokens", "reasoning", "store", "temperature"]


def test_errors(client: openai.OpenAI) -> None:
    with pytest.raises(openai.AuthenticationError) as unknown:
        client.with_options(api_key="svc_key_wrong").responses.retrieve("resp_1")
    assert unknown.value.code == "invalid_api_key"
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_" + "0" * 32)
    with pytest.raises(openai.BadRequestError, match=r"Give a text or a file\."):
        create(client, input=" ")
    with pytest.raises(openai.BadRequestError, match="20,000"):
        create(client, input="x" * 20_001)
    absent: list[Callable[[], object]] = [
        lambda: client.embeddings.create(model=MODEL, input="x"),
        client.conversations.create,
    ]
    for call in absent:
        with pytest.raises(openai.NotFoundError, match="no such route"):
            call()


@pytest.mark.parametrize(
    ("base", "key"),
    [(base, KEY) for base in ("", "/v1", "/openai", "/api/v1", "/openai/v1/v1")]
    + [("/v1", "svc_key_wrong")],
)
def test_a_wrong_base_address_is_told(
    client: openai.OpenAI, server: AgentServer, base: str, key: str
) -> None:
    lost = client.with_options(base_url=f"{server.url}{base}", api_key=key)
    calls: list[Callable[[], object]] = [
        lambda: create(lost, input="hi"),
        lambda: lost.responses.retrieve("resp_1"),
        lambda: lost.chat.completions.create(model=MODEL, messages=[]),
        lost.models.list,
        lambda: lost.embeddings.create(model=MODEL, input="hi"),
    ]
    for call in calls:
        with pytest.raises(openai.NotFoundError) as refused:
            call()
        assert refused.value.response.json()["error"]["message"] == (
            f"The OpenAI API of this server is not here: set base_url to {server.url}/openai/v1."
        )


def test_a_repeated_call_with_its_key_is_the_same_response(client: openai.OpenAI) -> None:
    again = client.with_options(max_retries=2)
    headers = {"Idempotency-Key": "the-same"}
    first = create(again, input="once", extra_headers=headers)
    second = create(again, input="once", extra_headers=headers)
    assert first.id == second.id
    with pytest.raises(openai.ConflictError) as conflict:  # not repeated: it would never end well
        create(again, input="other", extra_headers=headers)
    assert conflict.value.response.headers["x-should-retry"] == "false"


def client_of(server: AgentServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY, max_retries=0)


def test_a_call_is_answered_when_it_was_held_long_enough(start_server: ServerMaker) -> None:
    text = script(["gate", "late"], ["reply", "x"])
    with client_of(start_server(door_wait_seconds=0.5)) as impatient:
        assert create(impatient, input=text).status == "in_progress"
        with create(impatient, input=text, stream=True) as stream:
            last = list(stream)[-1]
    assert (last.type, last.response.status) == ("response.in_progress", "in_progress")


def test_what_waits_for_credits_is_queued_and_answered_at_once(start_server: ServerMaker) -> None:
    text = script(["start", "Report", [["step", "x", 5], *JOB]])
    with client_of(start_server(bootstrap_credits=0)) as poor:
        answer = create(poor, input=text)
        assert answer.status == "queued"
        assert native(answer)["resume"] == "add_credits"
        with create(poor, input=text, stream=True) as stream:
            assert list(stream)[-1].type == "response.queued"


def test_an_account_holds_only_so_many_calls(start_server: ServerMaker) -> None:
    text = script(["gate", "late"], ["reply", "x"])
    with (
        client_of(start_server(streams_max=1)) as narrow,
        create(narrow, input=text, stream=True) as stream,
    ):
        next(iter(stream))
        with pytest.raises(openai.RateLimitError) as refused:
            create(narrow, input="hi")
        assert create(narrow, input="hi", background=True).id
    assert refused.value.response.headers["retry-after"]


class Sums(BaseModel):
    """What the caller wants."""

    total: int
    notes: list[str]


def test_the_output_of_a_job_is_parsed(client: openai.OpenAI) -> None:
    wanted: dict[str, Any] = {"total": 3, "notes": []}
    given = [["output", {**wanted, "total": "many"}, wanted]]
    text = script(["reply", "Look."], ["start", "Count", given])
    answer = client.responses.parse(model=MODEL, input=text, text_format=Sums)
    assert answer.output_parsed == Sums(total=3, notes=[])
    assert native(answer)["output"] == wanted
    shown = answer.to_dict()["text"]
    assert shown["format"]["type"] == "json_schema"  # type: ignore[index]


def test_an_answer_that_is_no_choice_is_refused(client: openai.OpenAI) -> None:
    question = script(["ask", "Which?", {"choices": ["Bar", "Line"]}])
    asked = create(client, input=question)
    assert asked.output_text == "Which?"
    more: Any = {"model": MODEL, "previous_response_id": asked.id}
    with pytest.raises(openai.BadRequestError, match=r"Bar.*Line"):
        client.responses.create(input="pie", **more)
    key = {"Idempotency-Key": f"answer-to-{asked.id}"}
    answer = client.responses.create(input="line", extra_headers=key, **more)
    assert client.responses.create(input="line", extra_headers=key, **more).id == answer.id
    also = create(client, input=question)
    there: Any = {"model": MODEL, "previous_response_id": also.id}
    with pytest.raises(openai.ConflictError):  # the same text says something else there
        client.responses.create(input="line", extra_headers=key, **there)
    assert client.responses.create(input="And now?", **more).status == "completed"


def test_an_output_fits_the_class_of_the_caller(client: openai.OpenAI) -> None:
    """The texts that come besides are left out: they are no JSON."""
    wanted = {"total": 1042, "notes": ["all rows"]}
    text = json.dumps(
        [["delta", "Of no use to who wants JSON. "], ["reply", "Here."], ["output", wanted]]
    )
    answer = client.responses.parse(model=MODEL, input=text, text_format=Sums)
    assert answer.output_parsed == Sums(total=1042, notes=["all rows"])
    assert answer.text is not None
    assert answer.text.format is not None
    assert answer.text.format.type == "json_schema"
    with client.responses.stream(model=MODEL, input=text, text_format=Sums) as stream:
        assert stream.get_final_response().output_parsed == answer.output_parsed
    missing = client.responses.parse(model=MODEL, input="just talk", text_format=Sums)
    assert (missing.status, missing.output_parsed) == ("failed", None)
    asking = json.dumps([["ask", "Which year?"]])
    of_sums = as_text(Sums.model_json_schema())
    asked = client.responses.create(model=MODEL, input=asking, text=of_sums)
    assert (asked.status, asked.output_text) == ("completed", "Which year?")
    with pytest.raises(openai.BadRequestError, match="response_schema"):
        client.responses.create(model=MODEL, input="x", text=as_text({"type": 7}))


class Tree(BaseModel):
    """What contains itself."""

    name: str
    children: list[Tree]


def test_an_output_fits_a_class_that_contains_itself(client: openai.OpenAI) -> None:
    tree = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}
    wrong = {"name": "a", "children": [{"name": "b", "children": [{"name": 3, "children": []}]}]}
    text = json.dumps([["output", wrong, tree]])
    answer = client.responses.parse(model=MODEL, input=text, text_format=Tree)
    assert answer.output_parsed == Tree.model_validate(tree)
    assert "$.children[0].children[0].name" in (answer.model_extra or {})["agentpost"]["reply"]


@pytest.mark.timeout(300)  # npm may install packages first
def test_javascript_clients_get_what_fits_a_schema_of_zod(server: AgentServer) -> None:
    """Their schemas are of draft-07."""
    printed = run_official("structured.mjs", BASE_URL=f"{server.url}/openai/v1", KEY=KEY)
    results = json.loads(printed)
    assert len(results) == 4
    for value, *parsed in results:
        assert parsed == [value] * len(parsed)


def as_text(schema: dict[str, Any]) -> Any:
    """The parameter ``text`` that asks for such an output."""
    return {"format": {"type": "json_schema", "name": "sums", "schema": schema}}
