"""What people see of texts that agents wrote."""

import re
from io import StringIO

from rich.console import Console

from agentpost.cli.show import Screen
from agentpost.domain.text import displayable
from agentpost_client import Entry, Message


def test_agents_cannot_drive_the_terminal() -> None:
    assert displayable("a\x1b]0;t\x07\u202eb\x9b\r\n\tc") == "a]0;tb\n\tc"
    out = StringIO()
    screen = Screen(Console(file=out, force_terminal=True, color_system=None, width=80))
    evil = "\x1b[2J[red]x"
    screen.entry(Entry.read({"seq": 1, "type": "agent_reply", "text": evil}))
    screen.entry(Entry.read({"seq": 2, "type": "progress", "step": evil}))
    screen.closing(
        Message.read(
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
        screen.entry(Entry.read({"seq": 1, "type": "progress", "step": "Drawing"}))
    assert "Working…" in out.getvalue()
    assert "\x1b[1mbold" in out.getvalue()
    assert "**" not in out.getvalue()


def test_markdown_hides_no_address_and_turns_no_text_around() -> None:
    out = StringIO()
    screen = Screen(Console(file=out, force_terminal=True, width=80))
    screen.prose("a &#x202e;b [bank.example](http://evil.example) &#27;[2J")
    assert "http://evil.example" in out.getvalue()
    assert not {"\u202e", "\x1b]8", "\x1b[2J"} & set(
        re.findall("\u202e|\\x1b\\]8|\\x1b\\[2J", out.getvalue())
    )


def test_a_step_that_names_its_file_is_not_told_twice() -> None:
    out = StringIO()
    screen = Screen(Console(file=out))
    for step, names in (("Wrote a.txt", ["a.txt"]), ("Wrote", ["a.txt"]), ("", ["a.txt", "b"])):
        entry = {"seq": 1, "type": "progress", "step": step, "file_names": names}
        screen.entry(Entry.read(entry))
    assert out.getvalue().splitlines() == ["• Wrote a.txt", "• Wrote: a.txt", "• a.txt, b"]
