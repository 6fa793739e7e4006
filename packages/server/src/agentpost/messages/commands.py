"""The messages of a key: follow one, list, show, cancel, delete, recover."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from agentpost.cli import exits, given, resources
from agentpost.cli.commands import command
from agentpost.cli.connection import connect
from agentpost.cli.errors import say
from agentpost.cli.options import (
    Before,
    Conversation,
    Limit,
    MaxCredits,
    Metadata,
    ProfileName,
    Since,
    Until,
    one_of,
)
from agentpost.cli.printing import Result, first, screen
from agentpost.cli.tables import show_table
from agentpost.following.watching import Watch, interruptible, within

if TYPE_CHECKING:
    from agentpost.following.watching import Part

STATUSES: Final = tuple(exits.OF_STATUS)
MessageId = Annotated[str, typer.Argument(metavar="MESSAGE_ID")]


@command(
    "follow",
    "agentpost follow msg_0660c5",
    "agentpost follow msg_0660c5 --stream",
    "agentpost follow msg_0660c5 --after 7 --json",
    epilog=exits.HELP,
)
def follow(
    message_id: MessageId,
    after: Annotated[
        str | None,
        typer.Option(metavar="SEQ", help="Start after this entry or cursor."),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Show text while it is written.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop following after this time; jobs continue."),
    ] = None,
    profile: ProfileName = None,
) -> Result:
    """Follow the log of a message until it is final.

    The command reconnects automatically. With --json, each line is an entry; with --stream as well,
    pieces of text have the type delta or reset.
    """
    output_screen = screen()

    def show(part: Part) -> None:
        Result(_record(part), partial(output_screen.part, part)).print()

    cursor, seq = given.place(after)
    with connect(profile) as client, within(given.positive(timeout, "--timeout")):
        watch = Watch(client, show, stream, seq, cursor, message_id)
        with interruptible(watch), output_screen.waiting("Following…"):
            message = watch.all_of_it(message_id)
    ending = partial(output_screen.closing, message)
    return Result(text=ending, code=exits.of_status(message.status))


@command("recover", "agentpost recover msg_0660c5", "agentpost recover msg_0660c5 --max-credits 20")
def recover(
    message_id: MessageId,
    max_credits: MaxCredits = None,
    profile: ProfileName = None,
) -> Result:
    """Retrieve the result of an expired message, or allow a blocked one more credits.

    Nothing is sent or started again.
    """
    with connect(profile) as client:
        recovery = client.messages.recover(message_id, max_credits)

    def show() -> None:
        rows = [(work.work_id, work.state) for work in recovery.work]
        show_table(("work_id", "state"), rows, empty="the message has no work")
        if any(work.state in ("recovering", "watching") for work in recovery.work):
            say(f"watch it with: agentpost follow {message_id}")

    return Result(recovery.raw, show)


@command(
    "messages list",
    "agentpost messages list --status failed --since 1d",
    "agentpost messages list -c customer-4711 --metadata order=1042 --json",
)
def messages_list(
    status: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(STATUSES)}.",
            autocompletion=one_of(*STATUSES),
        ),
    ] = None,
    conversation: Conversation = None,
    metadata: Metadata = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    before: Before = None,
    profile: ProfileName = None,
) -> Result:
    """List the messages of the key, newest first."""
    spec = resources.find("messages list")
    with connect(profile) as client:
        pages = client.messages.list(
            status=status,
            conversation=conversation,
            metadata=given.pairs(metadata, "--metadata"),
            created_after=given.moment(since, "--since"),
            created_before=given.moment(until, "--until"),
            limit=spec.page_size(limit),
            before=before,
        )
        return spec.listing(*first(pages, limit, lambda item: item.id))


def _record(part: Part) -> Mapping[str, Any]:
    """An entry has its type in its record; pieces of text get one."""
    from agentpost_client import TextDelta, TextReset

    match part:
        case TextDelta():
            return {"type": "delta", **part.raw}
        case TextReset():
            return {"type": "reset", **part.raw}
        case _:
            return part.raw


resources.declare(
    "messages show",
    "agentpost messages show msg_0660c5",
    show=lambda message: screen().message(message),
)
resources.declare(
    "messages cancel",
    "agentpost messages cancel msg_0660c5",
    show=lambda message: screen().closing(message),
)
resources.declare("messages delete", "agentpost messages delete msg_0660c5")
