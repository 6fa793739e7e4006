"""Every command tells what is wrong in one line of one shape, and answers -h with examples that can
be typed."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from agentpost.cli import app
from tests.cli.scripted import run
from tests.servers import empty_sqlite, free_port


def test_help_has_a_short_name() -> None:
    for words, _ in commands():
        short, long = run(*words, "-h"), run(*words, "--help")
        assert (short.exit_code, short.stderr) == (0, ""), words
        assert short.stdout == long.stdout, words
        assert short.stdout.startswith(" ".join(("Usage: agentpost", *words)))


KEYS = ("keys", "create", "--account", "a@b.c", "--name", "ci")
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("zzz",), "agentpost: No such command 'zzz'. See: agentpost --help\n"),
    (("sned",), "Did you mean 'send'"),
    (
        ("keys", "lst"),
        "agentpost: No such command 'lst'. Did you mean 'list'? See: agentpost keys --help\n",
    ),
    (
        ("keys", "create"),
        "agentpost: Missing option '--account'. See: agentpost keys create --help\n",
    ),
    (
        (*KEYS, "--expires", "soon"),
        "--expires takes a length of time such as 30m, 12h or 7d. See: agentpost keys create",
    ),
    ((*KEYS, "--scopes", "read,fly"), ""),
    (("limits", "set", "a@b.c", "--running-jobs", "many"), ""),
    (("users", "create", "--email", "a@b.c", "--role", "king"), ""),
    (("credits", "add", "a", "5", "--nope"), ""),
    (("credits", "add", "a", "-x"), ""),
    (("serve", "--zzzz"), "agentpost: No such option: --zzzz. See: agentpost serve --help\n"),
    (("verify", "--only", "all"), ""),
    (
        ("send",),
        "agentpost: Invalid value: a message or --file is needed. See: agentpost send --help\n",
    ),
    (("send", "  "), "a message or --file is needed"),
    (("send", "a\udcff"), "not UTF-8"),
    (("send", "Hi", "--file", "no/such.csv"), "There is no file"),
    (("send", "Hi", "--file", "."), ""),
    (("send", "Hi", "--response-schema", "no/such.json"), ""),
    (("send", "Hi", "--metadata", "order"), ""),
    (("send", "Hi", "--timeout", "-1"), ""),
    (("send", "Hi", "--conversation", ""), ""),
    (("send", "Hi", "--max-credits", "x"), ""),
    (("send", "Hi", "--idempotency-key", "k" * 129), "idempotency_key"),
    (("send", "Hi", "--profile", "nobody"), ""),
    (("send", "Hi", "--colour"), ""),
    (("upload", "no/such.csv"), ""),
    (("messages", "list", "--since", "soon"), ""),
    (("messages", "list", "--limit", "0"), ""),
    (("usage", "--by", "moon"), ""),
    (("schedules", "create", "Hi"), ""),
    (("profiles", "use", "nobody"), ""),
    (("logout", "--profile", "nobody"), ""),
    (("listen", "--events", "message.eaten"), "there is no event 'message.eaten'"),
    (("listen", "--forward-to", "ftp://x"), "is not an address such as"),
    (("listen", "--skip-backlog", "--from-start"), "use either"),
    (("trigger", "no.event"), "events: message.completed"),
    (("trigger", "job.failed", "--endpoint", "e", "--forward-to", "3000"), "use either"),
    (("webhooks", "update", "whe_1"), "use --url"),
    (("webhooks", "rotate-secret", "whe_1", "--grace", "long"), "takes a length of time"),
    (("webhooks", "replay", "whe_1", "--since", "long ago"), "--since takes a time"),
]


@pytest.mark.parametrize(("arguments", "reported"), [*WRONG, (("send", "-"), "not UTF-8")])
def test_a_wrong_call_is_one_line_and_asks_nobody(
    arguments: tuple[str, ...], reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is away: asking it would end with 7."""
    monkeypatch.setenv("AGENTPOST_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AGENTPOST_KEY", "k")
    result = run(*arguments, stdin=b"\xff")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("agentpost: ")
    assert reported in result.stderr


def test_a_refusal_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))
    shutil.copyfile(empty_sqlite(), tmp_path / "agentpost.db")
    result = run("keys", "revoke", "key_none")
    assert (result.exit_code, result.stdout) == (1, "")
    database, line = result.stderr.splitlines()
    assert database == f"agentpost: database: {tmp_path}"
    assert re.fullmatch(r"agentpost: .+", line)


def test_a_group_without_a_command_shows_its_help() -> None:
    result = run("keys")
    assert result.exit_code == 2
    assert "revoke" in result.stderr


def commands(
    command: Any = None, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands and groups with their words; a group has ``commands``."""
    command = command or typer.main.get_command(app)
    yield words, command
    for word, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*words, word))


def examples(command: Any) -> list[list[str]]:
    """The words of each `agentpost …` in its help."""
    shown, _, _ = command.epilog.partition("Examples:\n")[2].partition("\n\n")
    lines = shown.replace("\\\n", " ").splitlines()
    return [list(_own(shlex.split(line))) for line in lines]


def _own(words: list[str]) -> Iterator[str]:
    """Without a pipe before `agentpost`, and what the shell does behind it."""
    words = words[words.index("agentpost") + 1 :]
    for word in words:
        if word in ("<", "|", ">"):
            return
        yield word


def every_command() -> dict[tuple[str, ...], Any]:
    return {words: command for words, command in commands() if not hasattr(command, "commands")}


def test_each_command_has_examples_that_can_be_typed() -> None:
    for words, command in every_command().items():
        lines = [each for each in examples(command) if tuple(each[: len(words)]) == words]
        assert lines, f"the help of {words} has no example of it"
        for line in lines:
            arguments = line[len(words) :]
            command.make_context(words[-1], arguments, help_option_names=["-h", "--help"])


def test_a_line_of_an_example_fits_a_terminal() -> None:
    lines = [line for command in every_command().values() for line in command.epilog.splitlines()]
    assert [line for line in lines if len(line) > 76 and line.startswith("  ")] == []
