"""Arguments with a form, and text that is shown while it is written."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import typer

from agentpost.cli import given
from agentpost.cli.show import LiveText
from agentpost.events.local_webhooks import checked_url
from agentpost_client import TextDelta, TextReset

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        (None, None),
        ("90m", NOW - timedelta(minutes=90)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T08:30", datetime(2026, 11, 20, 8, 30, tzinfo=UTC)),
        ("2026-11-20T08+01:00", datetime(2026, 11, 20, 8, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_a_moment(text: str | None, when: datetime | None) -> None:
    assert given.moment(text, "--since", NOW) == when


def test_a_moment_ahead() -> None:
    assert given.moment("2h", "--at", NOW, ahead=True) == NOW + timedelta(hours=2)
    with pytest.raises(typer.BadParameter, match="a time from now such as 2h"):
        given.moment("soon", "--at", ahead=True)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("3000", "http://localhost:3000"),
        ("3000/hooks", "http://localhost:3000/hooks"),
        ("3000?from=here", "http://localhost:3000?from=here"),
        ("localhost:3000/hooks", "http://localhost:3000/hooks"),
        ("10.0.0.7/hooks", "http://10.0.0.7/hooks"),
        ("https://example.com", "https://example.com"),
    ],
)
def test_an_address_is_completed(text: str, url: str) -> None:
    assert checked_url(text) == url


@pytest.mark.parametrize("text", ["", "soon", "3y", "-1d", "2026-13-01"])
def test_no_moment(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="--since takes a time"):
        given.moment(text, "--since")


def test_pairs() -> None:
    assert given.pairs(["a=1", "b=x=y", "c="], "--metadata") == {"a": "1", "b": "x=y", "c": ""}
    assert given.pairs(None, "--metadata") == {}
    for wrong in ("a", "=a"):
        with pytest.raises(typer.BadParameter, match="NAME=VALUE"):
            given.pairs([wrong], "--metadata")


def test_the_place_to_continue_from() -> None:
    assert given.place(None) == (None, 0)
    assert given.place("7") == (None, 7)
    assert given.place("c7dA") == ("c7dA", 0)


def test_a_number_of_seconds_leaves_time() -> None:
    assert given.positive(None, "--timeout") is None
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(typer.BadParameter):
            given.positive(wrong, "--timeout")


def test_a_json_object_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    for text in ("[]", "{", "\xff"):
        file.write_text(text, encoding="latin-1")
        with pytest.raises(typer.BadParameter, match="no JSON object"):
            given.json_object(file, "--response-schema")
    file.write_text('{"type": "object"}')
    assert given.json_object(file, "--response-schema") == {"type": "object"}
    with pytest.raises(typer.BadParameter, match="No such file"):
        given.json_object(tmp_path / "none", "--response-schema")


def piece(text: str, offset: int, job_id: str | None = None) -> TextDelta:
    return TextDelta(text=text, offset=offset, job_id=job_id)


@pytest.mark.parametrize(
    ("pieces", "text", "shown", "is_whole"),
    [
        ([piece("He", 0), piece("llo", 2)], "Hello", "Hello\n", True),
        ([piece("He", 0)], "Hello", "Hello\n", True),
        ([piece("Hello\n", 0)], "Hello", "Hello\n", True),
        ([], "Hello", "", False),
        ([piece("llo", 2)], "Hello", "…llo\n", False),
        ([piece("He", 0), piece("o", 4)], "Hello", "He\n", False),
        ([piece("He", 0)], "Bye", "He\n", False),
        ([piece("He", 0), piece("x", 0, "exe_1"), piece("llo", 2)], "Hello", "Hello\n", True),
        ([piece("He", 0, "exe_1")], "Hello", "He\n", False),
        ([piece("He", 0), TextReset(), piece("Bye", 0)], "Bye", "He\nBye\n", True),
        ([piece("a\x1b[2J", 0)], "a\x1b[2J", "a[2J\n", True),
    ],
)
def test_text_is_shown_once(
    pieces: list[TextDelta | TextReset], text: str, shown: str, is_whole: bool
) -> None:
    out: list[str] = []
    live = LiveText(out.append)
    for part in pieces:
        if isinstance(part, TextDelta):
            live.delta(part)
        else:
            live.reset(part)
    assert live.take(None, text) is is_whole
    live.end()
    assert "".join(out) == shown
