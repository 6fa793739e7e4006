"""Tables: to be read on a terminal, to be cut and sorted elsewhere; texts that agents wrote."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console

from agentpost.cli.show import Screen
from agentpost.cli.tables import age, show_table
from agentpost.domain.text import displayable
from agentpost_client import Entry, Message

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
COLUMNS = ("work_id", "status", "updated_at", "title", "count")
ROWS = [
    ("wrk_" + "0" * 32, "completed", NOW - timedelta(minutes=5), "A title\n" * 9, 12),
    ("wrk_1", None, None, "表\x1b[2J", 3),
]


def print_table(is_terminal: bool, rows: Sequence[Sequence[object]] = tuple(ROWS)) -> str:
    out = StringIO()
    on = Console(file=out, force_terminal=is_terminal, color_system=None, width=80)
    show_table(COLUMNS, rows, console=on, now=NOW, empty="nothing yet")
    return out.getvalue()


def test_a_pipe_gets_whole_values_between_tabs() -> None:
    assert [line.split("\t") for line in print_table(False).splitlines()] == [
        ["WORK ID", "STATUS", "UPDATED AT", "TITLE", "COUNT"],
        [ROWS[0][0], "completed", "2026-11-21T09:55:00Z", " ".join(["A title"] * 9), "12"],
        ["wrk_1", "-", "-", "表[2J", "3"],
    ]


def test_a_terminal_gets_columns_that_fit_and_ids_that_are_whole() -> None:
    heading, first, second = print_table(True).splitlines()
    assert heading.split() == ["WORK", "ID", "STATUS", "UPDATED", "AT", "TITLE", "COUNT"]
    assert max(map(len, (heading, first, second))) <= 80
    assert first.startswith(f"{ROWS[0][0]}  completed  5 min ago")
    assert "…" in first
    assert first.rstrip().endswith(" 12")
    assert "\x1b" not in second


def test_columns_without_room_are_left_out() -> None:
    """As of the keys, whose ids alone would be wider than the terminal."""
    out = StringIO()
    on = Console(file=out, force_terminal=True, color_system=None, width=80)
    columns = ("id", "name", "hint", "scopes", "expires_at", "revoked_at", "account_id")
    row = ("key_" + "0" * 32, "c" * 30, "…dwDr", "send,read,admin", "2026", None, "acc_" + "0" * 32)
    show_table(columns, [row], console=on, now=NOW)
    heading, line = out.getvalue().splitlines()
    assert heading.split() == ["ID", "NAME", "HINT", "SCOPES"]
    assert len(line.rstrip()) <= 80
    assert line.startswith(row[0])


def test_an_empty_table_says_so_apart_from_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_table(True, []) == ""
    assert print_table(False, []) == "WORK ID\tSTATUS\tUPDATED AT\tTITLE\tCOUNT\n"
    assert capsys.readouterr().err == "agentpost: nothing yet\n" * 2


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (timedelta(), "0 s ago"),
        (timedelta(seconds=59.9), "59 s ago"),
        (timedelta(hours=25), "1 d ago"),
        (-timedelta(hours=2), "in 2 h"),
        (timedelta(days=200), "2026-05-05"),
    ],
)
def test_an_age_is_short(before: timedelta, text: str) -> None:
    assert age(NOW - before, NOW) == text


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
