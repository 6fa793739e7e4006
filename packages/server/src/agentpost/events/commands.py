"""Webhook events: sending one again, and sending samples."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from agentpost.cli import exits
from agentpost.cli.commands import group
from agentpost.cli.connection import connect, errors_told, resolve
from agentpost.cli.errors import fail, say
from agentpost.cli.options import AsJson, ProfileName
from agentpost.events import listen_places, local_webhooks
from agentpost.events.list_commands import events_list
from agentpost.webhooks.commands import NoWait, tell, wait_for_attempt

EXAMPLES: Final = {
    "events list": """
        agentpost events list --events message.completed,job.failed
        agentpost events list --after cur_0660c5 --json
    """,
    "events resend": """
        agentpost events resend evt_0660c5
    """,
    "trigger": """
        agentpost trigger message.completed
        agentpost trigger job.failed --forward-to http://localhost:3000/webhooks
        agentpost trigger message.blocked --endpoint whe_0660c5
    """,
}
Endpoint = Annotated[str | None, typer.Option(metavar="ENDPOINT_ID", help="Endpoint to send to.")]


def _event_names(incomplete: str) -> list[str]:
    """For the shell's completion."""
    from agentpost.record.events import EventName

    return [name.value for name in EventName if name.startswith(incomplete)]


def attach(app: typer.Typer) -> None:
    """Register the commands on the program."""
    events = group("List and resend events.")
    events.command("list")(events_list)
    events.command("resend")(resend)
    app.add_typer(events, name="events")
    app.command()(trigger)


def resend(
    event_id: Annotated[str, typer.Argument(metavar="EVENT_ID")],
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="ENDPOINT_ID", help="Only to this endpoint."),
    ] = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
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
    tell(outcomes, as_json=as_json)


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
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
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
        tell([delivery], as_json=as_json)
        return
    server = resolve(profile)
    target = forward_to or listen_places.latest_target(server)
    if target is None:
        raise typer.BadParameter(
            "say where to: --endpoint (`agentpost webhooks list` has the ids), or --forward-to; "
            "`agentpost listen` has not run for this server"
        )
    _send_here(event, local_webhooks.checked_url(target), as_json=as_json, profile=profile)


def _send_here(name: str, target: str, *, as_json: bool, profile: str | None) -> None:
    from agentpost.events.listen_lines import EventLines
    from agentpost.record.events import EventName

    server = resolve(profile)
    with errors_told(server):
        secret = local_webhooks.secret_of(server)
        one = local_webhooks.sample(EventName(name), server)
        with local_webhooks.Forwarder(target, secret, local_webhooks.unix_seconds) as forwarder:
            outcome = forwarder.send(one)
    EventLines(as_json).print_sent(name, one["id"], outcome)
    if not outcome.is_taken:
        raise typer.Exit(exits.FAILED)
