"""Webhook endpoints and their deliveries (spec: Webhooks; design: Webhook events)."""

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts.scope_rules import Scope
from agentpost.api.body import read_json, read_optional_json
from agentpost.api.operation import CREATED, Api, Command, Operation, Query, Text, respond
from agentpost.api.query import choice_param, int_param, place_param, time_of
from agentpost.caller import Caller
from agentpost.contract.validation import validate
from agentpost.domain import ids, limits
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.http import audited
from agentpost.record.events import EventName
from agentpost.requests.redaction import shown_url
from agentpost.webhooks import deliveries, endpoints, shapes
from agentpost.webhooks.endpoint_rules import DeliveryStatus
from agentpost.webhooks.endpoints import EndpointChange

LIMIT = Query(
    "limit", "How many to list.", 1, limits.DELIVERIES_PAGE_MAX, limits.DELIVERIES_PAGE_DEFAULT
)
BEFORE = Text(
    "before", "Only deliveries older than the one with this `id`.", pattern=ids.pattern(ids.EVENT)
)


ENDPOINT = "/v1/webhooks/{endpoint_id}"
CHECKED = (ErrorCode.BAD_URL, ErrorCode.BAD_EVENTS, ErrorCode.BAD_REQUEST)


@Operation(
    id="listWebhookEndpoints",
    route="GET /v1/webhooks",
    scope=Scope.ADMIN,
    summary="List webhook endpoints",
    answer=shapes.EndpointListShape,
    command=Command(
        "webhooks list",
        ("id", "status=@status", "url", "events=events|*", "created=created_at"),
        empty="no endpoint yet: `agentpost webhooks create`",
    ),
)
async def list_all(api: Api, _: Request, caller: Caller) -> Response:
    """All of the account, newest first, without their secrets."""
    records = await endpoints.list_all(api.ctx, caller.account_id)
    return respond(
        shapes.EndpointListShape(data=[shapes.EndpointShape.of(each) for each in records])
    )


@Operation(
    id="createWebhookEndpoint",
    route="POST /v1/webhooks",
    scope=Scope.ADMIN,
    action="webhooks create",
    summary="Register a webhook endpoint",
    body=shapes.EndpointIn,
    answer=shapes.NewEndpointShape,
    successes=(CREATED,),
    errors=(*CHECKED, ErrorCode.TOO_MANY_ENDPOINTS),
)
async def create(api: Api, request: Request, caller: Caller) -> Response:
    """The endpoint receives signed events from now on, those of `events` or all. Keep its `secret`:
    it verifies the signatures and is shown this once. Each call creates another endpoint."""
    body = validate(shapes.EndpointIn, await read_json(api, request))
    audited.state(request, url=shown_url(body.url), events=body.events)
    endpoint = await endpoints.create(
        api.ctx, caller.account_id, body.url, body.events, body.description
    )
    audited.state(request, endpoint.id)
    return respond(shapes.NewEndpointShape.of(endpoint), 201)


@Operation(
    id="getWebhookEndpoint",
    route=f"GET {ENDPOINT}",
    scope=Scope.ADMIN,
    summary="Read a webhook endpoint and its newest deliveries",
    answer=shapes.EndpointWithDeliveriesShape,
    command=Command("webhooks show"),
)
async def get(api: Api, _: Request, caller: Caller, endpoint_id: str) -> Response:
    """With the 20 newest deliveries and what the receiver answered to each."""
    endpoint, newest = await endpoints.get(api.ctx, caller.account_id, endpoint_id)
    recent = [shapes.DeliveryShape.of(each) for each in newest]
    shape = shapes.EndpointWithDeliveriesShape.of(endpoint, recent_deliveries=recent)
    return respond(shape)


@Operation(
    id="updateWebhookEndpoint",
    route=f"PATCH {ENDPOINT}",
    scope=Scope.ADMIN,
    action="webhooks update",
    summary="Change a webhook endpoint, disable or enable it",
    body=shapes.EndpointChangeIn,
    answer=shapes.EndpointShape,
    errors=CHECKED,
)
async def change(api: Api, request: Request, caller: Caller, endpoint_id: str) -> Response:
    """Only the fields that are given change. Turning an endpoint off drops what is pending for it;
    turning it on forgets its failures."""
    body = validate(shapes.EndpointChangeIn, await read_json(api, request))
    endpoint_change = EndpointChange(body.url, body.events, body.description, body.enabled)
    url = shown_url(body.url) if body.url is not None else None
    audited.state(request, url=url, events=body.events, enabled=body.enabled)
    endpoint = await endpoints.change(api.ctx, caller.account_id, endpoint_id, endpoint_change)
    return respond(shapes.EndpointShape.of(endpoint))


@Operation(
    id="deleteWebhookEndpoint",
    route=f"DELETE {ENDPOINT}",
    scope=Scope.ADMIN,
    action="webhooks delete",
    summary="Remove a webhook endpoint",
    answer=shapes.DeletedEndpointShape,
    command=Command("webhooks delete"),
)
async def delete(api: Api, _: Request, caller: Caller, endpoint_id: str) -> Response:
    """Deliveries that are pending are cancelled. A second call answers 404."""
    await endpoints.delete(api.ctx, caller.account_id, endpoint_id)
    return respond(shapes.DeletedEndpointShape(id=endpoint_id))


@Operation(
    id="rotateWebhookSecret",
    route=f"POST {ENDPOINT}/rotate-secret",
    scope=Scope.ADMIN,
    action="webhooks rotate",
    summary="Replace the secret of a webhook endpoint",
    body=shapes.RotateIn,
    body_required=False,
    answer=shapes.RotatedSecretShape,
)
async def rotate(api: Api, request: Request, caller: Caller, endpoint_id: str) -> Response:
    """The new `secret` is shown this once and signs every later delivery, retries of older events
    too. With `grace_seconds` the old one signs beside it for a while, so that receivers can be
    changed without losing an event."""
    body = validate(shapes.RotateIn, await read_optional_json(api, request))
    audited.state(request, grace_seconds=body.grace_seconds)
    secrets = await endpoints.rotate(
        api.ctx, caller.account_id, endpoint_id, body.grace_seconds or 0
    )
    return respond(shapes.RotatedSecretShape.of(secrets))


@Operation(
    id="testWebhookEndpoint",
    route=f"POST {ENDPOINT}/test",
    scope=Scope.ADMIN,
    action="webhooks test",
    summary="Send a test event",
    body=shapes.TestIn,
    body_required=False,
    answer=shapes.DeliveryShape,
    successes=(CREATED,),
    errors=(ErrorCode.BAD_EVENTS, ErrorCode.BAD_REQUEST),
)
async def test(api: Api, request: Request, caller: Caller, endpoint_id: str) -> Response:
    """The endpoint gets a `webhook.test` event, subscribed to it or not; with `event` a sample of
    that one, signed like the real ones. A sample says `test: true`, its ids end in zeros and
    nothing in it exists."""
    body = validate(shapes.TestIn, await read_optional_json(api, request))
    if body.event is not None and body.event not in set(EventName):
        text = f"There is no event {body.event[:100]!r}. There are: {', '.join(EventName)}."
        raise Refusal(ErrorCode.BAD_EVENTS, text)
    event = EventName(body.event) if body.event is not None else None
    audited.state(request, event=event)
    delivery = await deliveries.send_test(api.ctx, caller.account_id, endpoint_id, event)
    return respond(shapes.DeliveryShape.of(delivery), 201)


@Operation(
    id="listWebhookDeliveries",
    route=f"GET {ENDPOINT}/deliveries",
    scope=Scope.ADMIN,
    summary="List the deliveries of a webhook endpoint",
    answer=shapes.DeliveryListShape,
    queries=(LIMIT,),
    texts=(
        BEFORE,
        Text("status", "Only deliveries with this status.", tuple(DeliveryStatus)),
    ),
    command=Command(
        "webhooks deliveries",
        (
            *("event_id=id", "event", "status", "tries=attempts"),
            *("answer=@answer", "created=created_at"),
        ),
        empty="no delivery fits",
    ),
)
async def list_deliveries(api: Api, request: Request, caller: Caller, endpoint_id: str) -> Response:
    """Newest first, each with a log of its attempts. While `has_more`, continue with `before`: the
    last one's `id`."""
    limit, before = int_param(request, LIMIT), await place_param(api, request, caller, BEFORE)
    word = choice_param(request, "status", DeliveryStatus)
    status = DeliveryStatus(word) if word else None
    records, more = await deliveries.page(
        api.ctx, caller.account_id, endpoint_id, limit, before, status
    )
    data = [shapes.LoggedDeliveryShape.of(each) for each in records]
    return respond(shapes.DeliveryListShape(data=data, has_more=more))


@Operation(
    id="redeliverWebhookEvent",
    route=f"POST {ENDPOINT}/deliveries/{{event_id}}/redeliver",
    scope=Scope.ADMIN,
    action="webhooks redeliver",
    summary="Send a delivery again",
    answer=shapes.DeliveryShape,
    errors=(ErrorCode.BAD_REQUEST,),
)
async def redeliver(
    api: Api, request: Request, caller: Caller, endpoint_id: str, event_id: str
) -> Response:
    """At once, with the same `webhook-id`, whether it was delivered before or not."""
    audited.state(request, event_id=event_id)
    delivery = await deliveries.redeliver(api.ctx, caller.account_id, endpoint_id, event_id)
    return respond(shapes.DeliveryShape.of(delivery))


@Operation(
    id="replayWebhookEvents",
    route=f"POST {ENDPOINT}/replay",
    scope=Scope.ADMIN,
    action="webhooks replay",
    summary="Send the deliveries of a time range again",
    body=shapes.ReplayIn,
    answer=shapes.ReplayShape,
    errors=(ErrorCode.BAD_REQUEST,),
)
async def replay(api: Api, request: Request, caller: Caller, endpoint_id: str) -> Response:
    """All of them that have ended, dropped ones included, or only those of `status`. For receivers
    that were down for longer than deliveries are retried."""
    body = validate(shapes.ReplayIn, await read_json(api, request))
    since = time_of("since", body.since)
    until = time_of("until", body.until) if body.until is not None else api.ctx.clock.now()
    statuses = tuple(DeliveryStatus(status) for status in body.status or deliveries.REPLAYABLE)
    audited.state(request, since=body.since, until=body.until, status=body.status)
    count = await deliveries.replay(api.ctx, caller.account_id, endpoint_id, since, until, statuses)
    return respond(shapes.ReplayShape(webhook_endpoint_id=endpoint_id, deliveries=count))


OPERATIONS = (
    *(list_all, create, get, change, delete),
    *(rotate, test, list_deliveries, redeliver, replay),
)
