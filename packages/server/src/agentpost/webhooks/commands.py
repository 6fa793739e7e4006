"""Webhook endpoints: every operation of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from agentpost.cli import exits, given, resources
from agentpost.cli.commands import command
from agentpost.cli.connection import connect
from agentpost.cli.errors import one_line, say
from agentpost.cli.options import Before, Limit, ProfileName
from agentpost.cli.printing import Result, first, print_text, say_more, screen
from agentpost.cli.tables import show_table

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

EndpointId = Annotated[str, typer.Argument(metavar="ENDPOINT_ID")]
Events = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Events, separated by commas; * for all."),
]
Description = Annotated[str | None, typer.Option(help="Description of the endpoint.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait for the receiver's answer.")]
_ATTEMPT_COLUMNS: Final = ("event_id", "at", "answer", "ms")


@command(
    "webhooks create",
    "agentpost webhooks create https://example.com/hooks",
    "agentpost webhooks create https://example.com/hooks --events job.failed",
)
def create(
    url: Annotated[str, typer.Argument(help="Address of your receiver: public, https.")],
    events: Events = None,
    description: Description = None,
    profile: ProfileName = None,
) -> Result:
    """Create an endpoint. Its secret is shown only now."""
    with connect(profile) as client:
        endpoint = client.webhooks.create(url, given.names(events), description)

    def show() -> None:
        _show_endpoint(endpoint)
        _show_secret(endpoint.secret)

    return Result(endpoint.raw, show)


def _print(endpoint: WebhookEndpointDetails) -> None:
    """An endpoint with its 20 newest deliveries."""
    _show_endpoint(endpoint)
    if endpoint.recent_deliveries:
        print_text()
    _show_deliveries(endpoint.recent_deliveries, "nothing was sent to it yet")


@command("webhooks update", "agentpost webhooks update whe_0660c5 --url https://example.com/new")
def update(
    endpoint_id: EndpointId,
    url: Annotated[str | None, typer.Option(help="New address.")] = None,
    events: Events = None,
    description: Description = None,
    profile: ProfileName = None,
) -> Result:
    """Edit the address, events or description of an endpoint."""
    names = given.names(events)
    changes: dict[str, Any] = {"url": url, "events": names, "description": description}
    if all(value is None for value in changes.values()):
        raise typer.BadParameter("use --url, --events or --description")
    return _change(endpoint_id, changes, profile)


@command("webhooks enable", "agentpost webhooks enable whe_0660c5")
def enable(endpoint_id: EndpointId, profile: ProfileName = None) -> Result:
    """Enable an endpoint and reset its count of failures.

    `webhooks replay` sends the events it has missed.
    """
    return _change(endpoint_id, {"enabled": True}, profile)


@command("webhooks disable", "agentpost webhooks disable whe_0660c5")
def disable(endpoint_id: EndpointId, profile: ProfileName = None) -> Result:
    """Disable an endpoint and drop its pending deliveries."""
    return _change(endpoint_id, {"enabled": False}, profile)


@command("webhooks rotate-secret", "agentpost webhooks rotate-secret whe_0660c5 --grace 1d")
def rotate_secret(
    endpoint_id: EndpointId,
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Sign with both secrets for this time: 30m, 12h, 7d."
        ),
    ] = None,
    profile: ProfileName = None,
) -> Result:
    """Replace the secret of an endpoint. The new one is shown only now."""
    seconds = given.span(grace, "--grace")
    with connect(profile) as client:
        secret = client.webhooks.rotate_secret(endpoint_id, seconds)

    def show() -> None:
        _show_secret(secret.secret)
        if until := secret.old_secret_until:
            screen().line(f"The old secret signs as well until {until.isoformat()}")

    return Result(secret.raw, show)


@command("webhooks test", "agentpost webhooks test whe_0660c5 --event message.completed")
def send_test(
    endpoint_id: EndpointId,
    event: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Event to send; by default webhook.test."),
    ] = None,
    no_wait: NoWait = False,
    profile: ProfileName = None,
) -> Result:
    """Send a test event to an endpoint and show the receiver's answer.

    The exit code is 1 when the delivery failed.
    """
    with connect(profile) as client:
        delivery = client.webhooks.test(endpoint_id, event)
        outcome = delivery if no_wait else wait_for_attempt(client, endpoint_id, delivery)
    return delivery_result([outcome])


@command("webhooks deliveries", "agentpost webhooks deliveries whe_0660c5 --status failed")
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
    profile: ProfileName = None,
) -> Result:
    """List the deliveries of an endpoint, newest first."""
    spec = resources.find("webhooks deliveries")
    with connect(profile) as client:
        size = spec.page_size(limit)
        pages = client.webhooks.deliveries(endpoint_id, status=status, limit=size, before=before)
        items, more = first(pages, limit, lambda each: each.id)
    result = spec.listing(items, more, _COMPUTED)
    if not attempts:
        return result
    rows = [row for each in items for row in _attempt_rows(each)]

    def show() -> None:
        show_table(_ATTEMPT_COLUMNS, rows, empty=spec.empty)
        say_more(more)

    return replace(result, text=show)


@command("webhooks redeliver", "agentpost webhooks redeliver whe_0660c5 evt_0660c5")
def redeliver(
    endpoint_id: EndpointId,
    event_id: Annotated[str, typer.Argument(metavar="EVENT_ID")],
    no_wait: NoWait = False,
    profile: ProfileName = None,
) -> Result:
    """Send an event to an endpoint again, whether it was delivered or not."""
    with connect(profile) as client:
        delivery = client.webhooks.redeliver(endpoint_id, event_id)
        outcome = delivery if no_wait else wait_for_attempt(client, endpoint_id, delivery)
    return delivery_result([outcome])


@command("webhooks replay", "agentpost webhooks replay whe_0660c5 --since 2h --status failed")
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
    profile: ProfileName = None,
) -> Result:
    """Send all events of a time range to an endpoint again."""
    begin, end = given.moment(since, "--since"), given.moment(until, "--until")
    assert begin is not None, "the option has to be there"
    with connect(profile) as client:
        result = client.webhooks.replay(endpoint_id, begin, until=end, status=given.names(status))
    number = result.deliveries
    return Result(result.raw, f"sending {number} {'event' if number == 1 else 'events'} again")


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


def delivery_result(deliveries: Sequence[AnyDelivery]) -> Result:
    """Deliveries; the exit code is 1 when a receiver did not take its one."""

    def show() -> None:
        _show_deliveries(deliveries)
        for each in deliveries:
            if each.last_response and each.status != "delivered":
                answer = one_line(each.last_response)[:_ANSWER_CHARACTERS]
                say(f"{each.id}: the receiver answered: {answer}")

    records = [each.raw for each in deliveries]
    is_refused = any(each.status != "delivered" and each.attempts > 0 for each in deliveries)
    code = exits.FAILED if is_refused else exits.DONE
    return Result(records[0] if len(records) == 1 else records, show, code=code)


def _change(endpoint_id: str, changes: dict[str, Any], profile: str | None) -> Result:
    with connect(profile) as client:
        endpoint = client.webhooks.update(endpoint_id, **changes)
    return Result(endpoint.raw, partial(_show_endpoint, endpoint))


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
    spec = replace(resources.find("webhooks deliveries"), empty=empty)
    spec.listing(deliveries, compute=_COMPUTED).print()


def _attempt_rows(one: LoggedDelivery) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for each in one.attempt_log:
        failed = f"{each.error}: {each.response}" if each.response else each.error
        rows.append((one.id, each.at, failed if each.error else each.status_code, each.ms))
    return rows


resources.declare("webhooks list", "agentpost webhooks list", compute={"status": _status})
resources.declare("webhooks show", "agentpost webhooks show whe_0660c5", show=_print)
resources.declare("webhooks delete", "agentpost webhooks delete whe_0660c5")
