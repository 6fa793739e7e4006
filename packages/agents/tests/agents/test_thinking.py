"""The reasoning of a local model is no part of its answer, however its text is cut."""

import pytest

from agentpost.agents.adapters.repairing import ThinkingFilter, without_thinking

THOUGHT = "<think>\nIs it < 4?\n</think>\n\n"


@pytest.mark.parametrize(
    ("text", "answer", "answer_cut_short"),
    [
        (f"{THOUGHT}Four.", "Four.", "Four."),
        (f"\n{THOUGHT}{THOUGHT}Four.", "Four.", "Four."),
        ("Four.", "Four.", "Four."),
        ("\n Four", "\n Four", "\n Four"),
        ("A <think> tag\n</think> is", "A <think> tag\n</think> is", "A <think> tag\n</think> is"),
        ("<thinking> is a tag", "<thinking> is a tag", "<thinking> is a tag"),
        ("<think>It is", "", ""),
        ("<think>It is</thi", "", ""),
        (THOUGHT, "", ""),
        ("<thi", "<thi", ""),
        ("<", "<", ""),
        ("", "", ""),
    ],
)
def test_it_is_taken_out(text: str, answer: str, answer_cut_short: str) -> None:
    assert without_thinking(text, is_cut_short=False) == answer
    assert without_thinking(text, is_cut_short=True) == answer_cut_short
    for size in range(1, 9):
        reader = ThinkingFilter()
        pieces = [reader.feed(text[n : n + size]) for n in range(0, len(text), size)]
        assert "".join(pieces) + reader.end(is_cut_short=True) == answer_cut_short
