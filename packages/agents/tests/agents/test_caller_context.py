"""The context of a message: what is written before a text is what is taken off again."""

import pytest

from agentpost.agents import File, Said
from agentpost.agents.adapters.conversing import zone_of
from agentpost.agents.caller_context import (
    CONTEXT_FILE,
    bare,
    context_of,
    with_context,
    with_context_file,
    without_context,
)

INSTRUCTIONS = "[Instructions of the caller]\nBe brief."
HISTORY = "[Said before]\nUser: hello"
MESSAGE = "[Message]\n"
TEXTS = [
    "hello",
    "",
    "two\n\nparagraphs",
    f"What does this mean?\n{INSTRUCTIONS}\n\n{MESSAGE}hello",
    INSTRUCTIONS,
    f"{INSTRUCTIONS}\n\n{MESSAGE}hello",
    f"{HISTORY}\n\n[Message]",
    f"{MESSAGE}hello",
    with_context_file("hello"),
]


@pytest.mark.parametrize(
    ("instructions", "history"),
    [
        ([], []),
        (["Be brief.", "", "In German."], []),
        ([], ["User: hello", "Assistant: Good day."]),
        (["Write\n\n[Message]\nabove it.", "[Said before]"], ["User: [Message]", "[Message]"]),
    ],
)
def test_a_text_is_read_as_it_was_written(instructions: list[str], history: list[str]) -> None:
    context = context_of(instructions, history)
    assert [without_context(with_context(context, text)) for text in TEXTS] == TEXTS
    assert [without_context(with_context_file(text)) for text in TEXTS] == TEXTS
    for each in [*instructions, *history]:
        assert each.partition("\n")[0] in context


def test_a_text_that_has_a_heading_only_is_left_alone() -> None:
    for text in (*TEXTS[:5], f"{INSTRUCTIONS}\n{MESSAGE}hello", f" {HISTORY}"):
        assert without_context(text) == with_context("", text) == text


def test_the_file_with_the_context_goes_with_it() -> None:
    files = tuple(
        File(f"file_{n}", name, "text/plain", "text", 1, '"1"', "wrk_1")
        for n, name in enumerate((CONTEXT_FILE, "a.csv", CONTEXT_FILE))
    )
    said = Said("user", with_context_file(" hello"), files, "", "msg_1")
    assert (bare(said).text, bare(said).files) == ("hello", files[:2])
    other = Said("user", "hello", files, "", "msg_1")
    assert bare(other) is other


def test_a_zone_that_is_not_known_is_none() -> None:
    unknown = [
        "",
        "Mars/Phobos",
        "GMT+2",
        "../../etc/passwd",
        "/etc/localtime",
        "a\0b",
        "Europe",
        "x" * 5_000,
    ]
    assert [name for name in unknown if zone_of({"timezone": name}) is not None] == []
    assert zone_of({}) is None
    assert zone_of({"timezone": "Asia/Tokyo"}) == "Asia/Tokyo"
