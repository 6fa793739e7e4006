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
from tests.servers import empty_sqlite


def test_help_has_a_short_name() -> None:
    for words, _ in commands():
        short, long = run(*words, "-h"), run(*words, "--help")
        assert (short.exit_code, short.stderr) == (0, ""), words
        assert short.stdout == long.stdout, words
        assert short.stdout.startswith(" ".join(("Usage: agentpost", *words)))


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("zzz",), "No such command 'zzz'. See: agentpost --help"),
        (("keys", "lst"), "No such command 'lst'. Did you mean 'list'? See: agentpost keys --help"),
        (("serve", "--zzzz"), "No such option: --zzzz. See: agentpost serve --help"),
        (("keys", "create"), "Missing option '--account'. See: agentpost keys create --help"),
        (("send",), "Invalid value: a message or --file is needed. See: agentpost send --help"),
        (
            ("keys", "create", "--account", "a", "--name", "b", "--expires", "soon"),
            "--expires takes a number with s, m, h or d, such as 30d",
        ),
        (("credits", "add", "a", "5", "--nope"), None),
        (("credits", "add", "a", "-x"), None),
        (("verify", "--only", "all"), None),
    ],
)
def test_a_wrong_call_is_one_line(arguments: tuple[str, ...], reported: str | None) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("agentpost: ")
    assert reported is None or line == f"agentpost: {reported}"


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
