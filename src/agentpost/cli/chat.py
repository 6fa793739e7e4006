"""`agentpost chat`: talk with the agent in a terminal, in one conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentpost.cli import downloads, exits, prompting, watching
from agentpost.cli.connection import connected, errors_told, resolve
from agentpost.cli.errors import say
from agentpost.cli.options import AsJson, ProfileName
from agentpost.cli.printing import print_json, screen
from agentpost.cli.staying import staying_connected
from agentpost.cli.watching import Watch

if TYPE_CHECKING:
    from agentpost.cli.connection import Server
    from agentpost_client import Account, Client, File, Message
    from agentpost_client.requests import SendOptions

EXAMPLES: Final = {
    "chat": """
        agentpost chat
        agentpost chat --conversation customer-4711
    """,
}
_SHOWN_AT_START: Final = 3
_TRIES_AT_START: Final = 2
"""A server that is away from the start is likely the wrong address."""
COMMANDS: Final = {
    "/file": "/file PATH   send a file with the next message",
    "/files": "/files       list the files made in this chat",
    "/save": "/save [DIR]  download them; nothing is overwritten",
    "/wait": "/wait        watch the last message again",
    "/stop": "/stop        end the agent's work on the last message",
    "/new": "/new         begin another conversation",
    "/help": "/help        show this list",
    "/quit": "/quit        leave (also Ctrl-D)",
}


def attach(app: typer.Typer) -> None:
    """Register the command on the program."""
    app.command()(chat)


def chat(
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", help="The conversation to continue.")
    ] = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Talk with the agent; its text is shown while it is written.

    Ctrl-C stops waiting, a second one leaves. An answer to a question of the agent is typed like
    any message. /help lists the commands; lines of a pipe are messages too.
    """
    with _reaching(profile) as (client, server):
        account = client.with_options(max_retries=_TRIES_AT_START).me()
        talk = Chat(client, server, conversation or _new_name(), as_json)
        talk.may_read = _may_read(account)
        if not as_json:
            talk.screen.line(f"{account.agent.name} · {server.url} · {talk.conversation}", "bold")
            talk.screen.line("/help lists the commands; Ctrl-D leaves", style="dim")
        if conversation is not None:
            talk.recall()
        code = talk.run()
    if prompting.on_terminal():
        say(f"to continue: agentpost chat --conversation {talk.conversation}")
    raise typer.Exit(code)


@contextmanager
def _reaching(profile: str | None) -> Iterator[tuple[Client, Server]]:
    """The server to talk with. At a terminal one that is away is waited for, as long as it takes:
    somebody sees that, and can stop it. A program that writes to a pipe gets the error."""
    if prompting.on_terminal():
        with staying_connected(profile) as reached:
            yield reached
    else:
        server = resolve(profile)
        with connected(profile) as client:
            yield client, server


class Chat:
    """One conversation in a terminal, and the messages of it that this process has seen."""

    def __init__(self, client: Client, server: Server, conversation: str, as_json: bool) -> None:
        self.client = client
        self.server = server
        self.conversation = conversation
        self.may_read = True
        self.screen = screen(as_json)
        self._as_json = as_json
        self._attached: list[Path] = []
        self._last_id: str | None = None
        self._asks = False
        self._choices: Sequence[str] = ()
        self._is_final = True
        self._files: dict[str, File] = {}

    def run(self) -> int:
        """Take lines until the end; the exit code."""
        with prompting.prompt(COMMANDS) as ask:
            while True:
                try:
                    line = ask(self._sign())
                except EOFError:
                    return exits.DONE
                except KeyboardInterrupt:
                    return exits.INTERRUPTED
                if line.strip() == "/quit":
                    return exits.DONE
                if line.strip():
                    self._guarded(partial(self._take, line))

    def recall(self) -> None:
        """Show the last messages of the conversation."""
        pages = self.client.messages.list(conversation=self.conversation, limit=_SHOWN_AT_START)
        for item in reversed(pages.page()):
            message = self.client.get(item.id)
            self._keep(message)
            if not self._as_json:
                self.screen.line(f"› {item.message}", style="dim")
                self.screen.message(message, hints=False)
        if not self._is_final:
            say("it is still at work: /wait watches it")

    def _sign(self) -> str:
        return "? " if self._asks else "› "

    def _guarded(self, action: Callable[[], None]) -> None:
        """An error is a line, and the chat continues."""
        try:
            with errors_told(self.server):
                action()
        except typer.Exit:
            pass
        except ValueError as problem:
            say(str(problem))

    def _take(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        if not word.startswith("/"):
            self._send(line)
            return
        commands: dict[str, Callable[[str], None]] = {
            "/file": self._attach,
            "/files": lambda _: self._list(),
            "/save": self._save,
            "/wait": lambda _: self._wait(),
            "/stop": lambda _: self._stop(),
            "/new": lambda _: self._renew(),
            "/help": lambda _: self._help(),
        }
        if word not in commands:
            raise ValueError(f"there is no command {word[:20]}; /help lists them")
        commands[word](rest.strip())

    def _send(self, text: str) -> None:
        number = text.strip()
        if number.isdecimal() and 1 <= int(number) <= len(self._choices):
            text = self._choices[int(number) - 1]
        files, self._attached = self._attached, []
        watch = self._watch()
        options: SendOptions = {
            "conversation": self.conversation,
            "idempotency_key": watching.new_key(),
            "busy": "queue",
        }
        messages = self.client.messages
        with self._interruptible(watch):
            with self.screen.waiting("Waiting for the agent…"):
                if self.may_read:
                    sent = watch.sent(messages.send_and_stream(text, files, **options))
                else:
                    sent = messages.send(text, files, **options)
            self._end(sent, watch)

    def _wait(self) -> None:
        watch, last_id = self._watch(), self._known_id()
        with self._interruptible(watch):
            with self.screen.waiting("Working…"):
                message = watch.all_of_it(last_id)
            self._end(message, watch)

    @contextmanager
    def _interruptible(self, watch: Watch) -> Iterator[None]:
        """Ctrl-C ends the waiting only; the message is the last one from then on."""
        try:
            yield
        except KeyboardInterrupt:
            self._last_id = watch.message_id or self._last_id
            self._asks, self._choices = False, ()
            self.screen.end_text()
            if watch.message_id is None:
                say(
                    "stopped; the server has not answered, so the message may not be there:"
                    f" agentpost messages list -c {self.conversation}"
                )
            else:
                say(
                    "stopped waiting; the agent continues: /wait watches again, /stop ends its work"
                )

    def _watch(self) -> Watch:
        show = watching.ignore if self._as_json else self.screen.part
        return Watch(self.client, show, streams=True)

    def _end(self, message: Message, watch: Watch) -> None:
        self._keep(message)
        if self._as_json:
            print_json(message.raw)
            return
        if message.reply and not watch.seq:
            self.screen.prose(message.reply)
        if message.status == "needs_input" and not (message.jobs or message.notes):
            self.screen.question(message)
        elif message.status != "completed" or message.jobs or message.notes:
            self.screen.closing(message, hints=False)

    def _keep(self, message: Message) -> None:
        self._last_id, self._asks = message.id, message.status == "needs_input"
        self._is_final = message.final
        asked = message.answer_format if self._asks else None
        self._choices = asked.choices if asked is not None else ()
        self._files.update((file.file_id, file) for file in message.files)

    def _stop(self) -> None:
        message = self.client.messages.cancel(self._known_id())
        self._keep(message)
        self.screen.closing(message, hints=False)

    def _attach(self, path: str) -> None:
        file = prompting.typed_path(path)
        if not file.is_file():
            raise ValueError(f"there is no file {path!r}" if path else "give the path of a file")
        self._attached.append(file)
        names = ", ".join(each.name for each in self._attached)
        self.screen.line(f"with the next message: {names}", style="dim")

    def _list(self) -> None:
        if not self._files:
            say("no files so far")
        self.screen.files(list(self._files.values()))

    def _save(self, folder: str) -> None:
        if not self._files:
            raise ValueError("no files so far")
        made: Sequence[File] = list(self._files.values())
        where = prompting.typed_path(folder or ".")
        for path in downloads.save_all(self.client, made, where, self.screen):
            self.screen.saved(path)

    def _renew(self) -> None:
        self.conversation, self._last_id = _new_name(), None
        self._asks, self._choices = False, ()
        self._attached.clear()
        self._files.clear()
        self.screen.line(f"conversation {self.conversation}", style="dim")

    def _help(self) -> None:
        for text in COMMANDS.values():
            self.screen.line(text, style="dim")

    def _known_id(self) -> str:
        """The id of the last message."""
        if self._last_id is None:
            raise ValueError("there is no message yet")
        return self._last_id


def _may_read(account: Account) -> bool:
    """Whether replies can be read as they are written; older servers do not say."""
    scopes = account.key.scopes if account.key is not None else ()
    return not scopes or "read" in scopes


def _new_name() -> str:
    """A name that no other chat has, and that can be typed again."""
    return watching.new_key("chat-")[:21]
