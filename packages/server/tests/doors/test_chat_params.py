"""The body of a Chat Completions call, understood."""

import pytest

from agentpost.doors.openai.chat.params import completion


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
    asked = completion({"messages": said}, ["agentpost"])
    assert asked.call_input.transcript.utterances[0].text == text
