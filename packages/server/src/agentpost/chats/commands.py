"""`agentpost chat`: talk with the agent in a terminal, in one conversation."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from agentpost.cli.commands import command
from agentpost.cli.connection import connect, errors_told, resolve
from agentpost.cli.errors import say
from agentpost.cli.options import ConversationName, ProfileName
from agentpost.cli.printing import Result, screen
from agentpost.following import watching
from agentpost.following.watching import Watch, interruptible
from agentpost.messages.send_commands import choice

if TYPE_CHECKING:
    from agentpost_client import Account, Client, Message
    from agentpost_client.requests import SendOptions

_FILE: Final = "/file"


@command("chat", "agentpost chat", "agentpost chat --conversation customer-4711")
def chat(
    conversation: ConversationName = None,
    profile: ProfileName = None,
) -> Result:
    """Chat with the agent, a message a line.

    The number of a choice answers the agent's question. "/file PATH" attaches a file to the next
    message. Ctrl-C stops waiting, the agent continues; Ctrl-D quits.
    """
    server = resolve(profile)
    name = conversation or watching.new_key("chat-")[:21]
    with connect(profile) as client:
        account = client.me()
        talk = _Chat(client, name, _may_read(account))
        talk.screen.line(f"{account.agent.name} · {server.url} · {name}", "bold")
        while (line := _read_line()) is not None:
            with suppress(typer.Exit), errors_told(server):  # an error is a line, and no end
                talk.take(line)
    if _is_terminal():
        say(f"to continue: agentpost chat --conversation {name}")
    return Result()


class _Chat:
    """One conversation: what is attached to its next message, and which choices it offers."""

    def __init__(self, client: Client, conversation: str, may_read: bool) -> None:
        self.screen = screen()
        self._client = client
        self._conversation = conversation
        self._may_read = may_read
        self._files: list[Path] = []
        self._choices: Sequence[str] = ()

    def take(self, line: str) -> None:
        """Attach the file of a ``/file`` line, or send the line and show what comes of it."""
        word, _, path = line.strip().partition(" ")
        if word == _FILE:
            self._attach(path.strip())
        elif word:
            self._send(choice(self._choices, line))

    def _attach(self, path: str) -> None:
        file = Path(os.path.expanduser(path))  # noqa: PTH111 - `Path.expanduser` can raise
        if not file.is_file():
            say(f"there is no file {path!r}" if path else f"give the path of a file: {_FILE} PATH")
            return
        self._files.append(file)
        self.screen.line(f"with the next message: {file.name}", style="dim")

    def _send(self, text: str) -> None:
        files, self._files, self._choices = self._files, [], ()
        options: SendOptions = {
            "conversation": self._conversation,
            "idempotency_key": watching.new_key(),
            "busy": "queue",
        }
        messages = self._client.messages
        watch = Watch(self._client, self.screen.part, True)
        with interruptible(watch), self.screen.waiting("Waiting for the agent…"):
            if self._may_read:
                message = watch.send(messages.send_and_stream(text, files, **options))
            else:
                message = messages.send(text, files, **options)
        answer_format = message.answer_format if message.status == "needs_input" else None
        self._choices = answer_format.choices if answer_format is not None else ()
        Result(message.raw, partial(self._show, message, watch)).print()

    def _show(self, message: Message, watch: Watch) -> None:
        """Where the message stands; its text is on the screen already where it was streamed."""
        if message.reply and not watch.seq:
            self.screen.prose(message.reply)
        if message.status == "needs_input" and not (message.jobs or message.notes):
            self.screen.question(message)
        elif message.status != "completed" or message.jobs or message.notes:
            self.screen.closing(message)


def _read_line() -> str | None:
    """The next line that is typed or piped; None at the end, and for Ctrl-C at the prompt."""
    if not _is_terminal():
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    with suppress(ImportError):  # where the system has it, `input` edits lines and has a history
        importlib.import_module("readline")
    try:
        return input("› ")
    except (EOFError, KeyboardInterrupt):
        return None


def _is_terminal() -> bool:
    """Whether a person types, and sees what is printed."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _may_read(account: Account) -> bool:
    """Whether replies can be read as they are written; older servers do not say."""
    scopes = account.key.scopes if account.key is not None else ()
    return not scopes or "read" in scopes
