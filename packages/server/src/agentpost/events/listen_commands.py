"""`listen`: webhooks on the machine of the person who builds a receiver, without an endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from time import sleep
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentpost.cli import given
from agentpost.cli.commands import command, prints_json
from agentpost.cli.connection import errors_told, resolve
from agentpost.cli.errors import say
from agentpost.cli.long_connections import may_pass, pause_after, staying_connected, until_answered
from agentpost.cli.options import EventNames, ProfileName
from agentpost.cli.printing import Result, print_text
from agentpost.events import listen_lines, listen_places, local_webhooks

if TYPE_CHECKING:
    from agentpost.cli.connection import Server
    from agentpost.events.listen_places import Place
    from agentpost.events.local_webhooks import Forwarder, Outcome
    from agentpost_client import Client
    from agentpost_client.events import Event

_AWAY_SECONDS: Final = 1.0
_AWAY_SECONDS_MAX: Final = 8.0
ForwardTo = Annotated[
    str | None,
    typer.Option(
        "--forward-to", metavar="URL", help="Address of the receiver, such as localhost:3000."
    ),
]


@command(
    "listen",
    "agentpost listen --forward-to http://localhost:3000/webhooks",
    "agentpost listen --forward-to localhost:3000 --events job.failed",
    "agentpost listen --print-secret",
)
def listen(
    forward_to: ForwardTo = None,
    events: EventNames = None,
    skip_backlog: Annotated[
        bool, typer.Option("--skip-backlog", help="Skip events since the last run.")
    ] = False,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Send all events since the first run again.")
    ] = False,
    print_secret: Annotated[
        bool, typer.Option("--print-secret", help="Print the signing secret and exit.")
    ] = False,
    profile: ProfileName = None,
) -> Result:
    """Forward the account's webhook events to a program on this machine, as they happen.

    No endpoint is needed, and the server need not reach this machine. Requests are signed like
    those of an endpoint, with a secret that belongs to the server and the key. The next run
    continues where this one stopped. The command retries while the server or the receiver is
    down. Without --forward-to it only prints the events.
    """
    if skip_backlog and from_start:
        raise typer.BadParameter("use either --skip-backlog or --from-start")
    if print_secret:
        server = resolve(profile)
        with errors_told(server):
            print_text(local_webhooks.secret_of(server))
        return Result()
    names = given.event_names(events)
    target = local_webhooks.checked_url(forward_to) if forward_to is not None else ""
    with staying_connected(profile) as (client, server), ExitStack() as stack:
        forwarder = None
        if target:
            secret = local_webhooks.secret_of(server)
            forwarder = stack.enter_context(local_webhooks.Forwarder(target, secret))
        place = listen_places.load(server, target)
        place = _begin(client, place, skip_backlog=skip_backlog, from_start=from_start)
        _greet(server, target)
        _run(client, place, names, forwarder)
    return Result()


def _begin(client: Client, place: Place, *, skip_backlog: bool, from_start: bool) -> Place:
    """Where the events begin; from here on the server keeps them for us."""
    from agentpost_client.errors import BadCursor

    cursor = place.first if from_start else place.cursor
    if cursor is not None and not skip_backlog:
        try:
            page = until_answered(lambda: client.events.list(cursor, limit=1))
        except BadCursor:
            say("the place of the last run belongs to another account: starting now")
            place = place.begun_again()
        else:
            if page.data and not from_start:
                say("first, the events since the last run (--skip-backlog skips them)")
            return place.at(cursor)
    elif from_start:
        say("this is the first run: starting now")
    place = place.at(until_answered(lambda: client.events.list(limit=1)).cursor)
    place.save()
    return place


def _greet(server: Server, target: str) -> None:
    lines = [f"Listening to the events of {server.url} ({server.source})."]
    if target:
        lines.append(f"Forwarding them to {target}.")
        lines.append(f"Signing secret: {local_webhooks.secret_of(server)} (it stays the same)")
    lines.append("Ctrl-C ends it; the next run continues here.")
    for line in lines:
        print_text(line, to_errors=prints_json.get())


def _run(
    client: Client, place: Place, names: tuple[str, ...] | None, forwarder: Forwarder | None
) -> None:
    for event in _events(client, place.cursor, names):
        outcome = None if forwarder is None else _forward(forwarder, event)
        if event.cursor is not None:
            place = place.at(event.cursor)
            place.save()  # before it is shown: what was shown is not sent again
        if outcome is None:
            listen_lines.print_event(event)
        else:
            listen_lines.print_outcome(event.type, event.id, outcome)


def _events(client: Client, cursor: str | None, names: tuple[str, ...] | None) -> Iterator[Event]:
    """The events without an end, over as many connections as it takes."""
    from agentpost_client import ApiError

    while True:
        try:
            for event in client.events.follow(cursor, types=names):
                cursor = event.cursor or cursor
                yield event
        except ApiError as error:
            if not may_pass(error):
                raise
            pause_after(error)


def _forward(forwarder: Forwarder, event: Event) -> Outcome:
    """Send the event; while nothing listens there, wait: all later ones would fail as well."""
    pause = _AWAY_SECONDS
    while True:
        outcome = forwarder.send(event.raw)
        if not outcome.is_away:
            return outcome
        say(f"retrying in {pause:.0f} s ({outcome.error}): {event.type} {event.id}")
        sleep(pause)
        pause = min(2 * pause, _AWAY_SECONDS_MAX)
