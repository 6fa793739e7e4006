"""The Chat Completions API, through the official client."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from agentpost.doors.openai.chat import call_input_of
from tests.doors.test_responses import JOB, client_of, script
from tests.e2e.agents import Script
from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer
from tests.libraries import openai
from tests.waiting import eventually

MODEL = "agentpost"
CONVERSATION = "X-Agentpost-Conversation"
SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"
Messages = list[dict[str, Any]]


def user(*operations: Any) -> dict[str, Any]:
    """A message of the user: a text, or a script."""
    plain = len(operations) == 1 and isinstance(operations[0], str)
    return {"role": "user", "content": operations[0] if plain else script(*operations)}


def create(client: openai.OpenAI, *messages: dict[str, Any], **more: Any) -> Any:
    return client.chat.completions.create(**{"model": MODEL, "messages": list(messages), **more})


def assistant_message(completion: Any) -> dict[str, Any]:
    """The answer as a client sends it back."""
    return {"role": "assistant", "content": completion.choices[0].message.content}


def turn_view(completion: Any) -> dict[str, Any]:
    """What the agent saw in a turn whose script is ``see``."""
    value: dict[str, Any] = json.loads(completion.choices[0].message.content)
    return value


def text_of(chunks: list[Any], field: str = "content") -> str:
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    return "".join(getattr(delta, field, None) or "" for delta in deltas)


def test_three_turns_are_one_conversation_and_an_edit_begins_another(client: openai.OpenAI) -> None:
    """The client sends what was said, without any id of ours."""
    history: Messages = [user("first, of three")]
    first = create(client, *history)
    assert first.choices[0].message.content == "You said: first, of three"
    assert (first.object, first.choices[0].finish_reason) == ("chat.completion", "stop")
    history += [assistant_message(first), user(["start", "Report", JOB])]
    second = create(client, *history)
    content = second.choices[0].message.content
    assert content.startswith("Report: running\n\nIt is done.\n\n[report.txt](http")
    link = content.partition("](")[2].removesuffix(")")
    assert httpx2.get(link).text == "all is well"
    third = create(client, *history, assistant_message(second), user(["see"]))
    found = turn_view(third)
    assert found["history"][-1] == ["job", "It is done."]
    assert len(found["works"]) == 1
    names = {each.agentpost["conversation"] for each in (first, second, third)}
    assert names == {found["conversation"]}
    edited = [user("first, edited"), assistant_message(first), user("go on")]
    made_anew = [*history, assistant_message(second), user("another answer")]
    for branch in (edited, made_anew):
        answer = create(client, *branch)
        assert branch[0]["content"] in answer.choices[0].message.content, "it is context"
        assert answer.agentpost["conversation"] not in names


def test_a_history_that_is_not_ours_is_context(client: openai.OpenAI) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        user("My name is Ada."),
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "1", "content": "42 rows"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello Ada."}]},
        user("And now?"),
    ]
    answer = create(client, *messages)
    for part in ("Be brief.", "My name is Ada.", "42 rows", "Hello Ada.", "And now?"):
        assert part in answer.choices[0].message.content


def test_reasoning_is_no_part_of_an_answer_and_quickly_left_out(client: openai.OpenAI) -> None:
    """Front ends send it back with the answer; texts that only begin it are as long as a body."""
    first = user("what did you think?")
    text = create(client, first).choices[0].message.content
    thought = {"role": "assistant", "content": f"<think>a\nb</think>{text}<think>c</think>"}
    assert create(client, first, thought, user("go on")).agentpost["reply"] == "You said: go on"
    endless = {"role": "assistant", "content": '<think><details type="reasoning"' * 20_000}
    quick = client.with_options(timeout=10)
    assert create(quick, first, endless, user("and now?")).choices[0].finish_reason == "stop"


def test_a_conversation_may_be_named_and_is_then_the_history(client: openai.OpenAI) -> None:
    calls = client.chat.completions.with_raw_response
    named = {CONVERSATION: "case-9"}
    messages: Any = [user("one")]
    raw = calls.create(model=MODEL, messages=messages, extra_headers=named)
    assert raw.headers[CONVERSATION] == "case-9"
    messages = [user("one"), assistant_message(raw.parse()), user(["see"])]
    for way in ({"extra_headers": named}, {"extra_body": {"conversation": "case-9"}}):
        again = create(client, *messages, **way)
        assert turn_view(again)["conversation"] == "case-9"
        assert turn_view(again)["history"][0] == ["user", "one"]
    unnamed = calls.create(model=MODEL, messages=[{"role": "user", "content": "hi"}])
    later = create(
        client, user(["see"]), extra_headers={CONVERSATION: unnamed.headers[CONVERSATION]}
    )
    assert turn_view(later)["history"][0] == ["user", "hi"]
    odd = create(client, user("hi"), extra_body={"conversation": "größe 東"})
    assert odd.agentpost["conversation"] == "größe 東"


def test_a_stream_has_progress_as_reasoning_then_text_links_and_usage(
    client: openai.OpenAI, server: AgentServer
) -> None:
    half = "The sum of all the rows is 1,042. "
    job: Script = [
        ["progress", "reading"], ["delta", half], ["gate", "sums"], ["write", "out/a.txt", "a"],
        ["write", "out/b.svg", SVG], ["return", half + half],
    ]  # fmt: skip
    history = [user(["start", "Sums", job])]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = []
    with create(client, *history, **options) as stream:
        for chunk in stream:
            chunks.append(chunk)
            if half[:30] in text_of(chunks):
                server.open_gate("sums")
    assert text_of(chunks, "reasoning_content").startswith("reading\n")
    content = text_of(chunks)
    assert content.startswith(f"Sums: running\n\n{half}{half}".rstrip() + "\n\n[a.txt](http")
    assert "\n\n![b.svg](http" in content
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    *_, last, usage = chunks
    assert last.choices[0].finish_reason == "stop"
    assert (usage.choices, usage.usage.total_tokens) == ([], 0)
    answer = {"role": "assistant", "content": content}
    plain = list(create(client, *history, answer, user(["see"]), stream=True))
    assert all(chunk.choices and chunk.usage is None for chunk in plain)
    assert json.loads(text_of(plain))["history"] != []


def test_hanging_up_stops_nothing(
    client: openai.OpenAI, server: AgentServer, caller: Caller
) -> None:
    job = [["gate", "left"], ["return", "It is done."]]
    with create(client, user(["start", "Slow", job]), stream=True) as stream:
        message_id = next(iter(stream)).id.replace("chatcmpl-", "msg_")
    server.open_gate("left")
    eventually(lambda: caller.get(message_id)["status"] == "completed", what="its end")


def test_files_come_in_all_forms(client: openai.OpenAI) -> None:
    uploaded = client.files.create(file=("up.txt", b"three"), purpose="user_data")
    one, two = (base64.b64encode(each).decode() for each in (b"one", b"two"))
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    parts: Any = [
        {"type": "text", "text": script(["see"])},
        {
            "type": "file",
            "file": {"filename": "a.txt", "file_data": f"data:text/plain;base64,{one}"},
        },
        {"type": "file", "file": {"filename": "b.txt", "file_data": two}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
        {"type": "input_audio", "input_audio": {"data": one, "format": "wav"}},
        {"type": "file", "file": {"file_id": uploaded.id}},
    ]
    files = turn_view(create(client, {"role": "user", "content": parts}))["files"]
    names = [file["name"] for file in files]
    assert (names[0], names[1], names[3:]) == ("a.txt", "b.txt", ["audio.wav", "up.txt"])
    assert files[2]["type"] == "image/png"


def test_what_a_person_has_to_know_is_said(client: openai.OpenAI) -> None:
    choices = {"choices": ["2024", "2025"]}
    asked = create(client, user(["ask", "Which year?", choices]))
    assert asked.choices[0].message.content == "Which year?\n\n- 2024\n- 2025"
    history = [user(["ask", "Which year?", choices]), assistant_message(asked)]
    answer = create(client, *history, user("2024"))
    assert "2024" in answer.choices[0].message.content
    assert answer.agentpost["conversation"] == asked.agentpost["conversation"]
    failing = ["start", "Sums", [["fail", "The file has no column 'price'."]]]
    with pytest.raises(openai.UnprocessableEntityError, match="no column 'price'") as failed:
        create(client.with_options(max_retries=2), user(failing))
    assert failed.value.response.headers["x-should-retry"] == "false"
    with pytest.raises(openai.APIError, match="no column 'price'"):
        list(create(client, user(failing), stream=True))
    both = create(client, user(failing, ["start", "Report", JOB]))
    assert "It is done." in both.choices[0].message.content
    assert "no column 'price'" in both.choices[0].message.content


def test_json_is_the_only_content_when_it_is_asked_for(client: openai.OpenAI) -> None:
    schema = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "sums", "schema": schema}}
    made = script(["write", "out/x.txt", "x"], ["output", {"sum": 3}])
    for stream in (False, True):
        message = {"role": "user", "content": made}
        answer = create(client, message, response_format=wanted, stream=stream)
        text = text_of(list(answer)) if stream else answer.choices[0].message.content
        assert json.loads(text) == {"sum": 3}


TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"tools": [TOOL]}, "tools", "unsupported_parameter"),
    ({"n": 2}, "n", "unsupported_parameter"),
    ({"modalities": ["audio"]}, "modalities", "unsupported_parameter"),
    ({"model": "gpt-9"}, "model", "model_not_found"),
    ({"store": "maybe"}, "store", "invalid_request"),
    ({"messages": []}, "messages", "invalid_request"),
    ({"messages": "hi"}, "messages", "invalid_request"),
    ({"messages": ["hi"]}, "messages[0]", "invalid_request"),
    ({"messages": [{"role": "user"}]}, "messages[0].content", "invalid_request"),
    ({"messages": [{"role": "judge", "content": "x"}]}, "messages[0].role", "unsupported_value"),
    ({"messages": [user("x"), {"role": "assistant", "content": "y"}]}, "messages",
     "unsupported_value"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
     "messages[0].content[0]", "invalid_request"),
    ({"messages": [{"role": "user", "content": [{"type": {}}]}]}, "messages[0].content[0].type",
     "unsupported_value"),
    ({"messages": [{"role": {}, "content": "x"}]}, "messages[0].role", "unsupported_value"),
    ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": 1}]}]},
     "messages[0].content[0].input_audio", "invalid_request"),
    ({"stream_options": 3}, "stream_options", "invalid_request"),
    ({"stream": "yes"}, "stream", "invalid_request"),
    ({"response_format": []}, "response_format", "invalid_request"),
    ({"response_format": {"type": "json_schema", "json_schema": 1}}, "response_format.json_schema",
     "invalid_request"),
    ({"extra_body": {"conversation": 7}}, "conversation", "invalid_request"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "param", "code"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_kept_is_refused(
    client: openai.OpenAI, given: dict[str, Any], param: str, code: str
) -> None:
    if given.get("response_format") == []:
        given = {"response_format": [1]}
    with pytest.raises(openai.BadRequestError) as refused:
        create(client, **{"messages": [user("good day")], **given})
    assert (refused.value.param, refused.value.code) == (param, code)
    text = refused.value.response.json()["error"]["message"]
    assert text.endswith("Correct the named fields, then retry.")  # this form has no `problems`


def test_what_has_no_effect_is_named(client: openai.OpenAI) -> None:
    usual: dict[str, Any] = {"tools": [], "tool_choice": "auto", "n": 1, "temperature": 1}
    answer = create(client, user("hi"), **usual, user="me", metadata={"case": "7"})
    assert (answer.agentpost["ignored"], answer.agentpost["metadata"]) == ([], {"case": "7"})
    more = {"top_k": 5, "chat_template_kwargs": {"enable_thinking": False}}
    answer = create(client, user("hi"), temperature=0.2, max_tokens=5, store=False, extra_body=more)
    assert answer.agentpost["ignored"] == [
        "chat_template_kwargs", "max_tokens", "store", "temperature", "top_k"
    ]  # fmt: skip


def test_a_repeat_by_the_client_is_the_same_completion(client: openai.OpenAI) -> None:
    first = create(client, user("once"))
    again = create(client, user("once"), extra_headers={"x-stainless-retry-count": "1"})
    assert again.id == first.id
    assert create(client, user("once")).id != first.id


def test_work_that_takes_longer_than_a_call_is_held_goes_on(
    start_server: Callable[..., AgentServer],
) -> None:
    server = start_server(door_wait_seconds=1)
    client = client_of(server)
    history = [user(["start", "Slow", [["gate", "slow"], ["return", "It is done."]]])]
    held = create(client, *history)
    streamed = list(create(client, user(["start", "Slow", [["gate", "slow"]]]), stream=True))
    assert streamed[-1].choices[0].finish_reason == held.choices[0].finish_reason == "length"
    assert assistant_message(held)["content"] == (
        "Slow: running\n\n*The work goes on. Write again in this chat to hear how it ends.*"
    )
    server.open_gate("slow")
    later = create(client, *history, assistant_message(held), user(["see"]))
    assert later.agentpost["conversation"] == held.agentpost["conversation"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("<think>a\nb</think>the answer", "the answer"),
        (
            '<details type="reasoning" done="true">a</details>\nthe <think>b</think>answer',
            "the answer",
        ),
        ("<think>a</think>x<think>b</think>y", "xy"),
        ("</think>x<think>never closed", "</think>x<think>never closed"),
        ("<think><think>a</think>x", "x"),
    ],
)
def test_the_reasoning_is_not_taken_for_the_answer(answer: str, text: str) -> None:
    said = [{"role": "assistant", "content": answer}, {"role": "user", "content": "and now?"}]
    asked = call_input_of({"messages": said}, ["agentpost"])
    assert asked.transcript.utterances[0].text == text
