"""What people see of texts that agents wrote."""

from io import StringIO

from rich.console import Console

from agentpost.cli.show import Screen, clean, size_words
from agentpost.client import Entry, Message


def test_agents_cannot_drive_the_terminal() -> None:
    assert clean("a\x1b]0;t\x07\u202eb\x9b\r\n\tc") == "a]0;tb\n\tc"
    out = StringIO()
    screen = Screen(Console(file=out, force_terminal=True, color_system=None, width=80))
    evil = "\x1b[2J[red]x"
    screen.entry(Entry.model_validate({"seq": 1, "type": "agent_reply", "text": evil}))
    screen.entry(Entry.model_validate({"seq": 2, "type": "progress", "step": evil}))
    screen.closing(
        Message.model_validate(
            {"id": "msg_1", "status": "x", "final": True, "notes": [evil], "question": evil}
        )
    )
    assert "\x1b[2J" not in out.getvalue()
    assert "[red]x" in out.getvalue()


def test_a_terminal_gets_markdown_and_a_spinner() -> None:
    out = StringIO()
    screen = Screen(Console(file=out, force_terminal=True, width=80))
    with screen.waiting("Working…"):
        screen.prose("**bold**")
        screen.entry(Entry.model_validate({"seq": 1, "type": "progress", "step": "Drawing"}))
    assert "Working…" in out.getvalue()
    assert "\x1b[1mbold" in out.getvalue()
    assert "**" not in out.getvalue()


def test_sizes_are_for_people() -> None:
    assert [size_words(size) for size in (0, 999, 1000, 12_345, 5 * 10**6, 10**13)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "12.3 kB",
        "5.0 MB",
        "10000.0 GB",
    ]
