"""Tables: to be read on a terminal, to be cut and sorted elsewhere."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console

from agentpost.cli.tables import age, show_table

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
