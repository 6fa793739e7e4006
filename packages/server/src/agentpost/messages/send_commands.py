"""`agentpost send`: a message, its progress and its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from agentpost.cli import exits, given
from agentpost.cli.commands import command, prints_json
from agentpost.cli.connection import connect
from agentpost.cli.errors import fail
from agentpost.cli.options import (
    Busy,
    ConversationName,
    MaxCredits,
    Metadata,
    ProfileName,
    ResponseSchema,
)
from agentpost.cli.printing import Result, screen
from agentpost.files import commands
from agentpost.following import watching
from agentpost.following.watching import TimeUp, Watch, interruptible, within

if TYPE_CHECKING:
    from agentpost.cli.show import Screen
    from agentpost_client import Client, Message
    from agentpost_client.requests import SendOptions

STDIN: Final = "-"
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Do not wait for jobs that the message starts.")
]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Stop waiting after this time; jobs continue."),
]


@command(
    "send",
    'agentpost send "Chart revenue by month" --file sales.csv --save out',
    'agentpost send "And by region" --conversation customer-4711 --stream',
    "agentpost send 2 --answer-to msg_0660c5",
    'agentpost send "Report" -f sales.csv --metadata order=1042 --no-wait',
    "git diff | agentpost send - --json --timeout 120",
    epilog=exits.HELP,
)
def send(
    message: Annotated[str, typer.Argument(help="The message; - reads standard input.")] = "",
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="File to attach; repeatable."),
    ] = None,
    upload_id: Annotated[
        list[str] | None, typer.Option(help="Upload to attach; repeatable.")
    ] = None,
    conversation: ConversationName = None,
    answer_to: Annotated[
        str | None, typer.Option(metavar="MESSAGE_ID", help="Message whose question this answers.")
    ] = None,
    response_schema: ResponseSchema = None,
    metadata: Metadata = None,
    busy: Busy = None,
    max_credits: MaxCredits = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Sent again with the same key, it starts nothing twice.")
    ] = None,
    no_wait: NoWait = False,
    timeout: Timeout = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Show the text while the agent writes it.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Folder for the result's files; nothing is overwritten.")
    ] = None,
    profile: ProfileName = None,
) -> Result:
    """Send a message and show its progress and result.

    Messages in one conversation share memory and files; without --conversation, all messages of the
    key do. With --answer-to, MESSAGE is the number or the text of a choice, or JSON.
    """
    text = _read_message(message, may_be_empty=bool(file or upload_id))
    if stream and (prints_json.get() or no_wait):
        raise typer.BadParameter("--stream cannot be used with --json or --no-wait")
    options: SendOptions = {
        "conversation": conversation,
        "metadata": given.pairs(metadata, "--metadata"),
        "idempotency_key": idempotency_key or watching.new_key(),
        "upload_ids": upload_id or (),
        "answer_to": answer_to,
        "response_schema": given.json_object(response_schema, "--response-schema"),
        "busy": busy,
        "max_credits": max_credits,
    }
    output_screen = screen()
    with connect(profile) as client, _within(given.positive(timeout, "--timeout"), options):
        messages = client.messages
        if answer_to is not None and text.strip():
            text = _put_answer(client, options, answer_to, text)
        watch = Watch(client, output_screen.part, streams=stream)
        if stream:
            with interruptible(watch), output_screen.waiting("Waiting for the agent…"):
                message_record = watch.send(messages.send_and_stream(text, file or (), **options))
            if message_record.reply and not watch.seq:
                output_screen.prose(message_record.reply)
        else:
            call = partial(messages.send, text, file or (), **options)
            message_record = _send_and_watch(watch, call, output_screen, no_wait)
        Result(message_record.raw, partial(output_screen.closing, message_record)).print()
        if save is not None:
            for path in commands.save_all(client, message_record.files, save, output_screen):
                output_screen.line(f"saved {path}")
    return Result(code=exits.of_status(message_record.status))


def _put_answer(client: Client, options: SendOptions, question_id: str, text: str) -> str:
    """Put the text into the options as the question's answer. Returns the text that is still to be
    sent: all of it when the key may only send, so that the question cannot be read."""
    from agentpost_client.errors import Forbidden

    try:
        options["answer"] = answer_value(client.messages.get(question_id), text)
    except Forbidden:
        return text
    return ""


def answer_value(question: Message, text: str) -> Any:
    """The answer to a question in the form it asks for, which the server checks: a choice by its
    number, or the JSON that the text is where the question has a schema."""
    wanted_format = question.answer_format
    if wanted_format is None:
        return text
    if wanted_format.choices:
        return choice(wanted_format.choices, text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def choice(choices: Sequence[str], text: str) -> str:
    """The choice with that number, counted from 1; else the text. A choice that is itself a number
    is taken as its text."""
    number = int(text) if text.strip().isdecimal() and text.strip() not in choices else 0
    return choices[number - 1] if 1 <= number <= len(choices) else text


# --- parts ----------------------------------------------------------------------------------------
def _send_and_watch(
    watch: Watch, call: Callable[[], Message], output_screen: Screen, no_wait: bool
) -> Message:
    with output_screen.waiting("Waiting for the agent…"):
        message = call()
    if message.reply:
        output_screen.prose(message.reply)
        watch.show = partial(output_screen.part, reply_shown=True)
    if no_wait:
        return message
    watch.message_id = message.id
    with interruptible(watch), output_screen.waiting("Working…"):
        return watch.to_the_end(message)


@contextmanager
def _within(seconds: float | None, options: SendOptions) -> Iterator[None]:
    """`within`, with words for the time in which the message has no id yet."""
    try:
        with within(seconds):
            yield
    except TimeUp:
        fail(
            f"no answer in {seconds:g} s; to ask for it again, which starts nothing twice: the same"
            f" command with --idempotency-key {options.get('idempotency_key')}",
            exits.NO_ANSWER,
        )
    except ValueError as error:  # an unusable idempotency key
        fail(str(error), exits.USAGE)


def _read_message(message: str, may_be_empty: bool) -> str:
    text = message
    try:
        if message == STDIN:
            text = typer.get_binary_stream("stdin").read().decode()
        text.encode()
    except UnicodeError:
        raise typer.BadParameter("the message is not UTF-8 text") from None
    if not (text.strip() or may_be_empty):
        raise typer.BadParameter("a message or --file is needed")
    return text
