"""The examples in the commands' help: each command has one, and each can be typed."""

import shlex
from collections.abc import Iterator
from typing import Any

import typer

from agentpost.cli import app


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
