"""The commands of a caller: send, follow, upload, files get, work, me.

They talk to a server as any client does, through the SDK, with the address and key of
``AGENTPOST_URL`` and ``AGENTPOST_KEY``. Standard output has the answer (``--json``: the API's own
records), standard error a line for each error and each retry. Exit codes of ``send`` and
``follow`` tell how the message ended, see `EXIT_CODES`; every command ends with `_EXIT_NO_ANSWER`
when it could not be carried out, and with 2 when it was called wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from agentpost.cli.commands import group
from agentpost.cli.errors import fail, say

if TYPE_CHECKING:
    from agentpost.cli.show import Screen
    from agentpost_client import AgentpostError, Client, Entry, File, Message

EXIT_CODES = {
    "completed": 0,
    "processing": 0,  # only seen with --no-wait: accepted
    "failed": 1,
    "needs_input": 3,
    "blocked": 4,
    "partial": 5,
    "expired": 6,
}
_EXIT_NO_ANSWER = 7
_EXIT_INTERRUPTED = 130
RETRY_NOTICE_SECONDS = 0.05
"""A shorter pause than this is not worth a line."""
EXIT_HELP = (
    "Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 the agent asks something, 4 blocked, "
    "5 partly completed, 6 expired, 7 no answer (settings, network, or refused by the server), "
    "130 interrupted."
)
ERROR_HINTS = {
    "unauthorized": "AGENTPOST_KEY is unknown, expired or revoked; on the server's machine "
    "`agentpost accounts list` and `agentpost keys create --account … --name …` make a key",
    "not_found": "ids are visible only to the key or account they belong to",
    "unavailable": "try again later; /readyz of the server says whether one of its stores fails",
    "internal": "the server's log has more under the request id",
}
STDIN = "-"

JsonOption = Annotated[bool, typer.Option("--json", help="Print the API's records as JSON.")]
WorkId = Annotated[str, typer.Argument(metavar="WORK_ID")]


def attach(app: typer.Typer) -> None:
    """Register the caller's commands on the program."""
    app.command(epilog=EXIT_HELP)(send)
    app.command(epilog=EXIT_HELP)(follow)
    app.command()(upload)
    app.command()(me)
    files = group("Files that work has made.")
    files.command("get")(files_get)
    app.add_typer(files, name="files")
    work = group("Work the agent has done or is doing.")
    work.command("list")(work_list)
    work.command("show")(work_show)
    work.command("stop")(work_stop)
    app.add_typer(work, name="work")


def send(
    message: Annotated[str, typer.Argument(help="The message; - reads standard input.")] = "",
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="A file to send along, uploaded if large; repeatable."),
    ] = None,
    upload_id: Annotated[
        list[str] | None, typer.Option(help="A finished upload to attach; repeatable.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", help="The conversation to continue.")
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Repeating a call with the same key starts nothing twice.")
    ] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Don't wait for work the message starts.")
    ] = False,
    as_json: JsonOption = False,
    save: Annotated[
        Path | None, typer.Option(help="Folder to save the made files in; nothing is overwritten.")
    ] = None,
) -> None:
    """Send a message and show its progress and result."""
    text = _read_message(message)
    if not text.strip() and not file and not upload_id:
        raise typer.BadParameter("give a message, or a --file")
    screen = _screen(as_json)
    with _errors_printed(), _client() as client:
        with screen.waiting("Waiting for the agent…"):
            try:
                sent = client.send(
                    text,
                    file or (),
                    conversation,
                    idempotency_key=idempotency_key,
                    upload_ids=upload_id or (),
                )
            except ValueError as error:  # an unusable idempotency key
                _fail(str(error))
        if sent.reply and not as_json:
            screen.prose(sent.reply)
        if not no_wait:
            show = _ignore if as_json else partial(screen.entry, reply_shown=bool(sent.reply))
            with screen.waiting("Working…"), _interruptible(sent.id):
                sent = _watch(client, sent, show)
        if as_json:
            _print_json(sent.raw)
        else:
            screen.closing(sent)
        if save is not None:
            for path in _save(client, sent.files, save):
                if not as_json:
                    screen.saved(path)
    raise typer.Exit(_exit_code(sent))


def follow(
    message_id: Annotated[str, typer.Argument(metavar="MSG_ID")], as_json: JsonOption = False
) -> None:
    """Print a message's log as it grows, until nothing more can come."""
    screen = _screen(as_json)
    with _errors_printed(), _client() as client:
        with screen.waiting("Following…"), _interruptible(message_id):
            for entry in client.follow(message_id):
                if as_json:
                    _print_json(entry.raw)
                else:
                    screen.entry(entry)
        message = client.get(message_id)
    if not as_json:
        screen.closing(message)
    raise typer.Exit(_exit_code(message))


def upload(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...")], as_json: JsonOption = False
) -> None:
    """Upload files of up to 500 MB each; attach them with `send --upload-id`."""
    screen = _screen(as_json)
    with _errors_printed(), _client() as client:
        for file in files:
            with screen.waiting(f"Uploading {file.name}…"):
                ready = client.upload(file)
            if as_json:
                _print_json(ready.raw)
            else:
                screen.uploaded(ready)


def files_get(
    file_id: Annotated[str, typer.Argument(metavar="FILE_ID")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A folder, or the file to write (and replace)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Download a file, by default into the current folder.

    In a folder nothing is overwritten: a name that is taken gets a number.
    """
    with _errors_printed(), _client() as client:
        made = client.file(file_id)
        wanted = Path(_local_name(made.name))
        if output is not None:
            wanted = output / wanted if output.is_dir() else output
        is_named = output is not None and wanted == output
        path = client.download(made, wanted if is_named else _free_path(wanted))
    if as_json:
        _print_json({**made.raw, "path": str(path)})
    else:
        _screen().saved(path)
        if path != wanted:
            say(f"{wanted} already exists and was not changed")


def work_list(
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many of the newest.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the account's newest work."""
    with _errors_printed(), _client() as client:
        items = client.work_list(limit)
    if as_json:
        _print_json([item.raw for item in items])
    else:
        _screen().work_list(items)


def work_show(work_id: WorkId, as_json: JsonOption = False) -> None:
    """Show a piece of work with the whole text of its latest result."""
    with _errors_printed(), _client() as client:
        work = page = client.work(work_id)
        text = page.text
        while page.next_from_char is not None:
            page = client.work(work_id, page.next_from_char)
            text += page.text
    if as_json:
        _print_json({**work.raw, "text": text, "next_from_char": None})
    else:
        _screen().work(work, text)


def work_stop(work_id: WorkId, as_json: JsonOption = False) -> None:
    """Stop what runs in a piece of work; files made so far stay."""
    with _errors_printed(), _client() as client:
        work = client.stop(work_id)
    if as_json:
        _print_json(work.raw)
    else:
        _screen().work(work, work.text)


def me(as_json: JsonOption = False) -> None:
    """Show the account behind the key: credits, limits, agent."""
    with _errors_printed(), _client() as client:
        account = client.me()
    if as_json:
        _print_json(account.raw)
    else:
        _screen().account(account)


def _watch(client: Client, message: Message, show: Callable[[Entry], None]) -> Message:
    """Follow a message to its end, or to where only somebody's credits can move it on.

    Results and failures have their text in the log only, so a final message that has one of them
    is followed too.
    """
    tells_all = message.final and not message.jobs and message.reason != "turn_failed"
    if _waits_for_credits(message) or tells_all:
        return message
    for entry in client.follow(message.id):
        show(entry)
        if entry.type in ("result", "state"):
            message = client.get(message.id)
            if _waits_for_credits(message):
                return message
    return client.get(message.id)


def _waits_for_credits(message: Message) -> bool:
    return message.status == "blocked" and not message.final


def _ignore(entry: Entry) -> None:
    """Show nothing of a log entry."""


def _save(client: Client, files: Sequence[File], folder: Path) -> Iterator[Path]:
    """Download files into a folder, in the subfolders they have in their work."""
    for file in files:
        parts = [_local_name(part) for part in file.file_id.split("/")[1:]]
        yield client.download(file, _free_path(folder.joinpath(*parts or [_local_name(file.name)])))


def _free_path(path: Path) -> Path:
    """The path, or the same with the first free number when something is there."""
    names = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return next(candidate for candidate in chain([path], names) if not candidate.exists())


def _read_message(message: str) -> str:
    text = message
    try:
        if message == STDIN:
            text = typer.get_binary_stream("stdin").read().decode()
        text.encode()
    except UnicodeError:
        raise typer.BadParameter("the message is not UTF-8 text") from None
    return text


def _local_name(name: str) -> str:
    from agentpost_client.partial import local_name

    return local_name(name)


def _client() -> Client:
    from agentpost_client import Client

    return Client(on_retry=_say_retry)


def _say_retry(seconds: float, why: str) -> None:
    if seconds >= RETRY_NOTICE_SECONDS:
        say(f"retrying in {seconds:.1f} s ({why})")


def _screen(as_json: bool = False) -> Screen:
    from agentpost.cli.show import Screen

    return Screen(spins=not as_json)


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))


def _exit_code(message: Message) -> int:
    """A status newer than this program counts as failed (spec: Versioning)."""
    return EXIT_CODES.get(message.status, EXIT_CODES["failed"])


@contextmanager
def _interruptible(message_id: str) -> Iterator[None]:
    """Ctrl-C ends the watching, never the work; say so."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped watching; the work continues: agentpost follow {message_id}")
        raise typer.Exit(_EXIT_INTERRUPTED) from None


@contextmanager
def _errors_printed() -> Iterator[None]:
    """Turn every error a caller can meet into one clear line, and end the command."""
    from agentpost_client import AgentpostError

    try:
        yield
    except AgentpostError as error:
        _fail(_describe(error))
    except BrokenPipeError:
        raise  # the reader of our output went away: typer ends quietly
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}")


def _describe(error: AgentpostError) -> str:
    """The error, what to do about it, and the request id for the operator."""
    from agentpost_client import ApiError, BadAnswer, ConfigError, ConnectionFailed

    match error:
        case ApiError():
            problems = [f"{item.field or 'request'}: {item.problem}" for item in error.problems]
            details = [error.code, *problems]
            hint = ERROR_HINTS.get(error.code, "")
            if error.retry_after is not None:
                hint = f"try again in {error.retry_after:g} s"
            text, request_id = f"{error.message} [{'; '.join(details)}]", error.request_id
        case BadAnswer():
            text, hint, request_id = str(error), "check AGENTPOST_URL", error.request_id
        case ConnectionFailed():
            hint = "is the server running? `agentpost serve` starts one; check AGENTPOST_URL"
            text, request_id = str(error), None
        case ConfigError():
            hint = "`agentpost serve` prints both when it starts for the first time"
            text, request_id = str(error), None
        case _:
            text, hint, request_id = str(error), "", None
    suffix = f" ({request_id})" if request_id else ""
    return f"{text}{suffix}" + (f" → {hint}" if hint else "")


def _fail(text: str) -> NoReturn:
    from agentpost.cli.show import one_line

    fail(one_line(text), _EXIT_NO_ANSWER)
