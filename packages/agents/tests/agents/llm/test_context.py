"""What is left of a conversation that is longer than the model's budget."""

from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agentpost.agents.llm.context import fit, size


def user(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def answer(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def used(result: str, argument: str = "a") -> list[ModelMessage]:
    call = ToolCallPart("read", {"name": argument}, "call_1")
    return [
        ModelResponse(parts=[call]), ModelRequest(parts=[ToolReturnPart("read", result, "call_1")])
    ]  # fmt: skip


def texts(messages: list[ModelMessage]) -> list[str]:
    """What each message has, with the number of its characters when it is long."""
    found = []
    for message in messages:
        part: Any = message.parts[0]
        text = part.args_as_json_str() if isinstance(part, ToolCallPart) else str(part.content)
        found.append(text if len(text) < 200 else f"{text[0]}{len(text)}")
    return found


CALL = '{"name":"a"}'
TALK = [user("p" * 5000), *used("r" * 5000), answer("first"), user("q" * 5000), *used("s" * 5000)]
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
    kept = fit(TALK, most)
    assert texts(kept) == expected
    assert size(kept) <= most or most == 1_000
    assert texts(fit(TALK, most)) == expected


def test_of_all_instructions_only_the_last_are_sent() -> None:
    asked = [UserPromptPart("a")]
    asked_with: list[ModelMessage] = [ModelRequest(asked, instructions="x" * 100)]
    asked_with.append(ModelRequest(asked, instructions="xyz"))
    assert size(asked_with) - size([user("a"), user("a")]) == 3


def test_what_the_model_wrote_itself_is_shortened_too() -> None:
    talk = [user("a"), *used("ok", "x" * 9000), answer("done"), user("b")]
    kept = fit(talk, 1_000)
    assert texts(kept) == ["a", "{543", "ok", "done", "b"]
    call = kept[1].parts[0]
    assert isinstance(call, ToolCallPart)
    assert call.args_as_dict()["name"].startswith("xxx")


def test_the_last_messages_that_are_left_out_are_named() -> None:
    talk = [one for n in range(50) for one in (user(f"order {n}\nmore"), answer("y" * 100))]
    first: Any = fit([*talk, user("last")], 200)[0].parts[0]
    assert first.content.startswith("[The beginning of this conversation is left out: 49")
    assert first.content.count("\n- order ") == 20
    assert "more" not in first.content


def test_texts_of_other_alphabets_count_by_their_bytes() -> None:
    assert size([user("日本語")]) == 9
