"""Webhook events: sending one again, and sending samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentpost.cli import exits, given
from agentpost.cli.commands import command
from agentpost.cli.connection import connect, errors_told, resolve
from agentpost.cli.errors import fail, say
from agentpost.cli.options import Conversation, EventNames, Limit, ProfileName
from agentpost.cli.printing import Result
from agentpost.cli.tables import show_table
from agentpost.events import listen_lines, listen_places, local_webhooks
from agentpost.webhooks.commands import NoWait, delivery_result, wait_for_attempt

if TYPE_CHECKING:
    from agentpost.cli.connection import Server
    from agentpost.events.listen_places import Place
    from agentpost_client import Client
    from agentpost_client.events import Event, EventPage

Endpoint = Annotated[str | None, typer.Option(metavar="ENDPOINT_ID", help="Endpoint to send to.")]


def _event_names(incomplete: str) -> list[str]:
    """For the shell's completion."""
    from agentpost.record.events import EventName

    return [name.value for name in EventName if name.startswith(incomplete)]


@command("events resend", "agentpost events resend evt_0660c5")
def resend(
    event_id: Annotated[str, typer.Argument(metavar="EVENT_ID")],
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="ENDPOINT_ID", help="Only to this endpoint."),
    ] = None,
    no_wait: NoWait = False,
    profile: ProfileName = None,
) -> Result:
    """Send an event to its endpoints again and show the receivers' answers.

    The exit code is 1 when a delivery failed.
    """
    from agentpost_client.errors import BadRequest, NotFound

    with connect(profile) as client:
        deliveries = []
        refusals = []
        endpoint_ids = [endpoint] if endpoint else [each.id for each in client.webhooks.list()]
        for each in endpoint_ids:
            try:
                deliveries.append((each, client.webhooks.redeliver(each, event_id)))
            except NotFound:
                if endpoint:
                    raise
            except BadRequest as error:
                refusals.append(f"{each}: {error.message}")
        for text in refusals:
            say(text)
        if not deliveries:
            text = f"no endpoint that is enabled was sent {event_id}"
            fail(f"{text}; `agentpost webhooks deliveries` lists events", exits.USAGE)
        outcomes = [
            one if no_wait else wait_for_attempt(client, each, one) for each, one in deliveries
        ]
    return delivery_result(outcomes)


@command(
    "trigger",
    "agentpost trigger message.completed",
    "agentpost trigger job.failed --forward-to http://localhost:3000/webhooks",
    "agentpost trigger message.blocked --endpoint whe_0660c5",
)
def trigger(
    event: Annotated[
        str,
        typer.Argument(
            metavar="EVENT", help="Event, such as message.completed.", autocompletion=_event_names
        ),
    ],
    endpoint: Endpoint = None,
    forward_to: Annotated[
        str | None,
        typer.Option("--forward-to", metavar="URL", help="Address to send to."),
    ] = None,
    profile: ProfileName = None,
) -> Result:
    """Send a sample event, signed like a real one and marked as a test.

    By default it goes to the address that `listen` last forwarded to, signed with the secret of
    `listen`. The exit code is 1 when the delivery failed.
    """
    if endpoint is not None and forward_to is not None:
        raise typer.BadParameter("use either --endpoint or --forward-to")
    from agentpost.record.events import EventName

    if event not in set(EventName):
        raise typer.BadParameter(f"there is no event {event!r}; events: {', '.join(EventName)}")
    if endpoint is not None:
        with connect(profile) as client:
            delivery = wait_for_attempt(client, endpoint, client.webhooks.test(endpoint, event))
        return delivery_result([delivery])
    server = resolve(profile)
    target = forward_to or listen_places.latest_target(server)
    if target is None:
        raise typer.BadParameter(
            "say where to: --endpoint (`agentpost webhooks list` has the ids), or --forward-to; "
            "`agentpost listen` has not run for this server"
        )
    return _send_here(event, local_webhooks.checked_url(target), server)


def _send_here(name: str, target: str, server: Server) -> Result:
    from agentpost.record.events import EventName

    with errors_told(server):
        secret = local_webhooks.secret_of(server)
        one = local_webhooks.sample(EventName(name), server)
        with local_webhooks.Forwarder(target, secret) as forwarder:
            outcome = forwarder.send(one)
    listen_lines.print_outcome(name, one["id"], outcome)
    return Result(code=exits.DONE if outcome.is_taken else exits.FAILED)


_PAGE_MAX = 200
_SHOWN_ONLY = ""  # the place of `listen` without --forward-to


@command(
    "events list",
    "agentpost events list --events message.completed,job.failed",
    "agentpost events list --after cur_0660c5 --json",
)
def events_list(
    after: Annotated[
        str | None,
        typer.Option(metavar="CURSOR", help="Start after this cursor of an earlier list."),
    ] = None,
    events: EventNames = None,
    conversation: Conversation = None,
    limit: Limit = 50,
    profile: ProfileName = None,
) -> Result:
    """List the events of the key's messages, oldest first; with the scope read_all, of all keys.

    Events are stored from the first `events list` or `listen`, until seven days after the last.
    With --json it is a page of the API, with the cursor to continue from.
    """
    from agentpost_client.errors import BadCursor

    names = given.event_names(events)
    server = resolve(profile)
    place = listen_places.load(server, _SHOWN_ONLY)
    with connect(profile) as client:

        def read(cursor: str) -> tuple[list[Event], EventPage]:
            events: list[Event] = []
            while True:
                size = min(limit - len(events), _PAGE_MAX)
                page = client.events.list(
                    cursor, types=names, conversation=conversation, limit=size
                )
                events += page.data
                cursor = page.cursor
                if not page.has_more or len(events) >= limit:
                    return events, page

        try:
            listed, page = read(after or place.first or _begin(client, place))
        except BadCursor:
            if after is not None:
                raise
            listed, page = read(_begin(client, place.begun_again()))
    if page.cursor_expired:
        say("older events are no longer stored")

    def show() -> None:
        rows = [(e.timestamp, e.type, e.id, listen_lines.subject_of(e.raw)) for e in listed]
        show_table(("time", "event", "id", "of"), rows, empty="no event since then")
        more = "there are more" if page.has_more else "to list what comes next"
        say(f"{more}: agentpost events list --after {page.cursor}")

    data = [event.raw for event in listed]
    return Result(
        {"object": "list", "data": data, "has_more": page.has_more, "cursor": page.cursor}, show
    )


def _begin(client: Client, place: Place) -> str:
    """Have the account's events kept from now on, and remember where that was."""
    say("first call for this account: events are stored from now on")
    cursor = client.events.list(limit=1).cursor
    place.at(cursor).save()
    return cursor
