"""Webhook endpoints: every operation of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from agentpost.cli import exits, given, resources
from agentpost.cli.commands import group
from agentpost.cli.connection import connect
from agentpost.cli.errors import say
from agentpost.cli.options import AsJson, Before, Limit, ProfileName
from agentpost.cli.printing import first, print_json, print_text, screen, show_page

if TYPE_CHECKING:
    from agentpost_client import Client
    from agentpost_client.models import (
        Delivery,
        LoggedDelivery,
        NewWebhookEndpoint,
        WebhookEndpoint,
        WebhookEndpointDetails,
    )

    AnyDelivery: TypeAlias = Delivery | LoggedDelivery
    AnyEndpoint: TypeAlias = WebhookEndpoint | NewWebhookEndpoint | WebhookEndpointDetails

EXAMPLES: Final = {
    "webhooks create": """
        agentpost webhooks create https://example.com/hooks
        agentpost webhooks create https://example.com/hooks --events job.failed
    """,
    "webhooks list": """
        agentpost webhooks list
    """,
    "webhooks show": """
        agentpost webhooks show whe_0660c5
    """,
    "webhooks update": """
        agentpost webhooks update whe_0660c5 --url https://example.com/new
    """,
    "webhooks enable": """
        agentpost webhooks enable whe_0660c5
    """,
    "webhooks disable": """
        agentpost webhooks disable whe_0660c5
    """,
    "webhooks delete": """
        agentpost webhooks delete whe_0660c5
    """,
    "webhooks redeliver": """
        agentpost webhooks redeliver whe_0660c5 evt_0660c5
    """,
    "webhooks deliveries": """
        agentpost webhooks deliveries whe_0660c5 --status failed
    """,
    "webhooks test": """
        agentpost webhooks test whe_0660c5 --event message.completed
    """,
    "webhooks replay": """
        agentpost webhooks replay whe_0660c5 --since 2h --status failed
    """,
    "webhooks rotate-secret": """
        agentpost webhooks rotate-secret whe_0660c5 --grace 1d
    """,
}
EndpointId = Annotated[str, typer.Argument(metavar="ENDPOINT_ID")]
Events = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Events, separated by commas; * for all."),
]
Description = Annotated[str | None, typer.Option(help="Description of the endpoint.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait for the receiver's answer.")]
_ATTEMPT_COLUMNS: Final = ("event_id", "at", "answer", "ms")


def attach(app: typer.Typer) -> None:
    """Register the commands on the program."""
    webhooks = group("Manage webhook endpoints and their deliveries.")
    resources.attach(webhooks, "webhooks list", compute={"status": _status})
    resources.attach(webhooks, "webhooks show", _print)
    resources.attach(webhooks, "webhooks delete")
    for name, command in (
        ("create", create),
        ("update", update),
        ("enable", enable),
        ("disable", disable),
        ("rotate-secret", rotate_secret),
        ("test", send_test),
        ("deliveries", deliveries),
        ("redeliver", redeliver),
        ("replay", replay),
    ):
        webhooks.command(name)(command)
    app.add_typer(webhooks, name="webhooks")


def create(
    url: Annotated[str, typer.Argument(help="Address of your receiver: public, https.")],
    events: Events = None,
    description: Description = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Create an endpoint. Its secret is shown only now."""
    with connect(profile) as client:
        endpoint = client.webhooks.create(url, _names(events), description)
    if as_json:
        print_json(endpoint.raw)
        return
    _show_endpoint(endpoint)
    _show_secret(endpoint.secret)


def _print(endpoint: WebhookEndpointDetails) -> None:
    """An endpoint with its 20 newest deliveries."""
    _show_endpoint(endpoint)
    if endpoint.recent_deliveries:
        print_text()
    _show_deliveries(endpoint.recent_deliveries, "nothing was sent to it yet")


def update(
    endpoint_id: EndpointId,
    url: Annotated[str | None, typer.Option(help="New address.")] = None,
    events: Events = None,
    description: Description = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Edit the address, events or description of an endpoint."""
    changes: dict[str, Any] = {"url": url, "events": _names(events), "description": description}
    if all(value is None for value in changes.values()):
        raise typer.BadParameter("use --url, --events or --description")
    _change(endpoint_id, changes, as_json=as_json, profile=profile)


def enable(endpoint_id: EndpointId, as_json: AsJson = False, profile: ProfileName = None) -> None:
    """Enable an endpoint and reset its count of failures.

    `webhooks replay` sends the events it has missed.
    """
    _change(endpoint_id, {"enabled": True}, as_json=as_json, profile=profile)


def disable(endpoint_id: EndpointId, as_json: AsJson = False, profile: ProfileName = None) -> None:
    """Disable an endpoint and drop its pending deliveries."""
    _change(endpoint_id, {"enabled": False}, as_json=as_json, profile=profile)


def rotate_secret(
    endpoint_id: EndpointId,
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Sign with both secrets for this time: 30m, 12h, 7d."
        ),
    ] = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Replace the secret of an endpoint. The new one is shown only now."""
    seconds = given.span(grace, "--grace")
    with connect(profile) as client:
        secret = client.webhooks.rotate_secret(endpoint_id, seconds)
    if as_json:
        print_json(secret.raw)
        return
    _show_secret(secret.secret)
    if secret.old_secret_until is not None:
        screen().line(f"The old secret signs as well until {secret.old_secret_until.isoformat()}")


def send_test(
    endpoint_id: EndpointId,
    event: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Event to send; by default webhook.test."),
    ] = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Send a test event to an endpoint and show the receiver's answer.

    The exit code is 1 when the delivery failed.
    """
    with connect(profile) as client:
        delivery = client.webhooks.test(endpoint_id, event)
        outcome = delivery if no_wait else wait_for_attempt(client, endpoint_id, delivery)
    tell([outcome], as_json=as_json)


def deliveries(
    endpoint_id: EndpointId,
    status: Annotated[
        str | None,
        typer.Option(help="pending, delivered, failed, dropped or cancelled."),
    ] = None,
    limit: Limit = 20,
    before: Before = None,
    attempts: Annotated[
        bool, typer.Option("--attempts", help="Show each attempt with its answer.")
    ] = False,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """List the deliveries of an endpoint, newest first."""
    spec = resources.command("webhooks deliveries")
    with connect(profile) as client:
        size = spec.page_size(limit)
        pages = client.webhooks.deliveries(endpoint_id, status=status, limit=size, before=before)
        items, more = first(pages, limit, lambda each: each.id)
    if not attempts:
        resources.show_list(spec, items, more, as_json=as_json, compute=_COMPUTED)
        return
    rows = [row for each in items for row in _attempt_rows(each)]
    show_page(items, more, as_json, lambda: _table(_ATTEMPT_COLUMNS, rows, spec.empty))


def redeliver(
    endpoint_id: EndpointId,
    event_id: Annotated[str, typer.Argument(metavar="EVENT_ID")],
    no_wait: NoWait = False,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Send an event to an endpoint again, whether it was delivered or not."""
    with connect(profile) as client:
        delivery = client.webhooks.redeliver(endpoint_id, event_id)
        outcome = delivery if no_wait else wait_for_attempt(client, endpoint_id, delivery)
    tell([outcome], as_json=as_json)


def replay(
    endpoint_id: EndpointId,
    since: Annotated[
        str, typer.Option(metavar="WHEN", help="Start: a time, or an age such as 2h.")
    ],
    until: Annotated[
        str | None, typer.Option(metavar="WHEN", help="End: a time; by default now.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(help="delivered, failed, dropped, separated by commas."),
    ] = None,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """Send all events of a time range to an endpoint again."""
    begin, end = given.moment(since, "--since"), given.moment(until, "--until")
    assert begin is not None, "the option has to be there"
    with connect(profile) as client:
        result = client.webhooks.replay(endpoint_id, begin, until=end, status=_names(status))
    if as_json:
        print_json(result.raw)
    else:
        number = result.deliveries
        screen().line(f"sending {number} {'event' if number == 1 else 'events'} again")


# --- shared with `events resend` and `trigger` ----------------------------------------------------
def wait_for_attempt(client: Client, endpoint_id: str, delivery: Delivery) -> AnyDelivery:
    """The delivery after its next attempt; as it is when none was made for some seconds."""
    from time import monotonic, sleep

    over = monotonic() + _SETTLED_SECONDS
    latest: AnyDelivery = delivery
    while (
        latest.status == "pending" and latest.attempts == delivery.attempts and monotonic() < over
    ):
        sleep(_LOOK_SECONDS)
        pages = client.webhooks.deliveries(endpoint_id, limit=100)
        latest = next((each for each in pages.page() if each.id == delivery.id), latest)
    return latest


_SETTLED_SECONDS: Final = 15.0
_LOOK_SECONDS: Final = 0.3
_ANSWER_CHARACTERS: Final = 200


def tell(deliveries: Sequence[AnyDelivery], *, as_json: bool) -> None:
    """Show deliveries; the command ends with 1 when a receiver did not take its one."""
    from agentpost.cli.show import one_line

    if as_json:
        print_json(deliveries[0].raw if len(deliveries) == 1 else [each.raw for each in deliveries])
    else:
        _show_deliveries(deliveries)
        for each in deliveries:
            if each.last_response and each.status != "delivered":
                answer = one_line(each.last_response)[:_ANSWER_CHARACTERS]
                say(f"{each.id}: the receiver answered: {answer}")
    if any(each.status != "delivered" and each.attempts > 0 for each in deliveries):
        raise typer.Exit(exits.FAILED)


def _change(
    endpoint_id: str, changes: dict[str, Any], *, as_json: bool, profile: str | None
) -> None:
    with connect(profile) as client:
        endpoint = client.webhooks.update(endpoint_id, **changes)
    if as_json:
        print_json(endpoint.raw)
    else:
        _show_endpoint(endpoint)


def _show_endpoint(endpoint: AnyEndpoint) -> None:
    screen().line(f"{endpoint.id} · {_status(endpoint)}")
    screen().line(f"{endpoint.url} gets {', '.join(endpoint.events) or '*'}")
    if endpoint.description:
        screen().line(endpoint.description)


def _show_secret(secret: str) -> None:
    screen().line(f"secret: {secret}")
    say("store the secret now: it is not shown again; receivers verify signatures with it")


def _status(endpoint: AnyEndpoint) -> str:
    if endpoint.disabled_at is not None:
        return "disabled"
    return "failing" if endpoint.failing_since is not None else "enabled"


def _answer(one: AnyDelivery) -> object:
    return one.last_status_code if one.last_error is None else one.last_error


_COMPUTED: Final = {"answer": _answer}


def _show_deliveries(deliveries: Sequence[AnyDelivery], empty: str = "") -> None:
    spec = replace(resources.command("webhooks deliveries"), empty=empty)
    resources.show_list(spec, deliveries, None, as_json=False, compute=_COMPUTED)


def _attempt_rows(one: LoggedDelivery) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for each in one.attempt_log:
        failed = f"{each.error}: {each.response}" if each.response else each.error
        rows.append((one.id, each.at, failed if each.error else each.status_code, each.ms))
    return rows


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]


def _table(columns: tuple[str, ...], rows: list[tuple[object, ...]], empty: str = "") -> None:
    from agentpost.cli.tables import show_table

    show_table(columns, rows, empty=empty)
