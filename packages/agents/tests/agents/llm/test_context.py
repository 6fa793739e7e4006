"""What is left of a conversation that is longer than the model's budget."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.libraries import Later, pydantic_messages as ai

if TYPE_CHECKING:
    from agentpost.agents.llm import context
else:
    context = Later("agentpost.agents.llm.context")


def user(text: str) -> ai.ModelRequest:
    return ai.ModelRequest(parts=[ai.UserPromptPart(text)])


def answer(text: str) -> ai.ModelResponse:
    return ai.ModelResponse(parts=[ai.TextPart(text)])


def used(result: str, argument: str = "a") -> list[ai.ModelMessage]:
    call = ai.ToolCallPart("read", {"name": argument}, "call_1")
    returned = ai.ToolReturnPart("read", result, "call_1")
    return [ai.ModelResponse(parts=[call]), ai.ModelRequest(parts=[returned])]


def texts(messages: list[ai.ModelMessage]) -> list[str]:
    """What each message has, with the number of its characters when it is long."""
    found = []
    for message in messages:
        part: Any = message.parts[0]
        text = part.args_as_json_str() if isinstance(part, ai.ToolCallPart) else str(part.content)
        found.append(text if len(text) < 200 else f"{text[0]}{len(text)}")
    return found


CALL = '{"name":"a"}'
LEFT_OUT = "[231"


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (30_000, ["p5000", CALL, "r5000", "first", "q5000", CALL, "s5000"]),
        (16_000, ["p5000", CALL, "r531", "first", "q5000", CALL, "s5000"]),
        (13_000, ["p2031", CALL, "r531", "first", "q5000", CALL, "s5000"]),
        (11_000, [LEFT_OUT, "q5000", CALL, "s5000"]),
        (8_000, [LEFT_OUT, "q2724", CALL, "s5000"]),
        (5_000, [LEFT_OUT, "q2031", CALL, "s2693"]),
        (1_000, [LEFT_OUT, "q2031", CALL, "s531"]),
    ],
)
def test_the_oldest_parts_go_first(most: int, expected: list[str]) -> None:
    asked, found, next_asked, next_found = (letter * 5000 for letter in "prqs")
    talk = [user(asked), *used(found), answer("first"), user(next_asked), *used(next_found)]
    kept = context.fit(talk, most)
    assert texts(kept) == expected
    assert context.size(kept) <= most or most == 1_000
    assert texts(context.fit(talk, most)) == expected


def test_of_all_instructions_only_the_last_are_sent() -> None:
    asked = [ai.UserPromptPart("a")]
    asked_with: list[ai.ModelMessage] = [ai.ModelRequest(asked, instructions="x" * 100)]
    asked_with.append(ai.ModelRequest(asked, instructions="xyz"))
    assert context.size(asked_with) - context.size([user("a"), user("a")]) == 3


def test_what_the_model_wrote_itself_is_shortened_too() -> None:
    talk = [user("a"), *used("ok", "x" * 9000), answer("done"), user("b")]
    kept = context.fit(talk, 1_000)
    assert texts(kept) == ["a", "{543", "ok", "done", "b"]
    call = kept[1].parts[0]
    assert isinstance(call, ai.ToolCallPart)
    assert call.args_as_dict()["name"].startswith("xxx")


def test_the_last_messages_that_are_left_out_are_named() -> None:
    talk = [one for n in range(50) for one in (user(f"order {n}\nmore"), answer("y" * 100))]
    first: Any = context.fit([*talk, user("last")], 200)[0].parts[0]
    assert first.content.startswith("[The beginning of this conversation is left out: 49")
    assert first.content.count("\n- order ") == 20
    assert "more" not in first.content


def test_texts_of_other_alphabets_count_by_their_bytes() -> None:
    assert context.size([user("日本語")]) == 9
