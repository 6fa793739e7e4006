"""Webhook endpoints and what was delivered to them. To receive: `agentpost_client.webhooks`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from agentpost_client._async.pages import AsyncPages
from agentpost_client._async.transport import AsyncTransport
from agentpost_client.enums import DeliveryStatus, EventName
from agentpost_client.models import (
    DeletedWebhookEndpoint,
    Delivery,
    DeliveryList,
    LoggedDelivery,
    NewWebhookEndpoint,
    Replay,
    RotatedSecret,
    WebhookEndpoint,
    WebhookEndpointDetails,
    WebhookEndpointList,
)
from agentpost_client.operations import operation
from agentpost_client.requests import call, moment, texts


class AsyncWebhooks:
    """The account's endpoints, and their deliveries."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @operation("listWebhookEndpoints")
    async def list(self) -> tuple[WebhookEndpoint, ...]:
        """The account's endpoints, up to 10."""
        return (await self._transport.ask(call("GET", "webhooks"), WebhookEndpointList)).data

    @operation("createWebhookEndpoint")
    async def create(
        self, url: str, events: Iterable[str] | None = None, description: str | None = None
    ) -> NewWebhookEndpoint:
        """A new endpoint; without ``events`` it receives all. Its ``secret`` is shown only here."""
        body = {"url": url, "events": texts(events), "description": description}
        request = call("POST", "webhooks", body=body, repeatable=False)
        return await self._transport.ask(request, NewWebhookEndpoint)

    @operation("getWebhookEndpoint")
    async def get(self, endpoint_id: str) -> WebhookEndpointDetails:
        """An endpoint with its 20 newest deliveries."""
        request = call("GET", "webhooks", endpoint_id)
        return await self._transport.ask(request, WebhookEndpointDetails)

    @operation("updateWebhookEndpoint")
    async def update(
        self,
        endpoint_id: str,
        *,
        url: str | None = None,
        events: Iterable[str] | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> WebhookEndpoint:
        """Change what is given. ``enabled=True`` turns an endpoint on again, its failures
        forgotten."""
        body = {
            "url": url,
            "events": texts(events),
            "description": description,
            "enabled": enabled,
        }
        request = call("PATCH", "webhooks", endpoint_id, body=body)
        return await self._transport.ask(request, WebhookEndpoint)

    @operation("deleteWebhookEndpoint")
    async def delete(self, endpoint_id: str) -> DeletedWebhookEndpoint:
        """Remove an endpoint; deliveries that wait are cancelled."""
        request = call("DELETE", "webhooks", endpoint_id)
        return await self._transport.ask(request, DeletedWebhookEndpoint)

    @operation("rotateWebhookSecret")
    async def rotate_secret(
        self, endpoint_id: str, grace_seconds: int | None = None
    ) -> RotatedSecret:
        """A new secret, shown only here. For ``grace_seconds`` deliveries are signed with both."""
        path = ("webhooks", endpoint_id, "rotate-secret")
        body = {"grace_seconds": grace_seconds}
        return await self._transport.ask(
            call("POST", *path, body=body, repeatable=False), RotatedSecret
        )

    @operation("testWebhookEndpoint")
    async def test(self, endpoint_id: str, event: EventName | str | None = None) -> Delivery:
        """Have a test event sent; its delivery is among `deliveries` afterwards.

        With ``event``, such as ``message.completed``, a sample of that one: it has ``test`` set.
        """
        body = None if event is None else {"event": str(event)}
        path = ("webhooks", endpoint_id, "test")
        request = call("POST", *path, body=body, repeatable=False)
        return await self._transport.ask(request, Delivery)

    @operation("listWebhookDeliveries")
    def deliveries(
        self,
        endpoint_id: str,
        *,
        status: DeliveryStatus | str | None = None,
        limit: int | None = None,
        before: str | None = None,
    ) -> AsyncPages[LoggedDelivery]:
        """What was delivered or tried, newest first, over all pages.

        ``limit`` is the size of a page; ``before`` an event's id, to start behind it.
        """

        async def read(cursor: str | None) -> tuple[tuple[LoggedDelivery, ...], str | None]:
            query = {"limit": limit, "before": cursor or before, "status": status}
            request = call("GET", "webhooks", endpoint_id, "deliveries", query=query)
            page = await self._transport.ask(request, DeliveryList)
            return page.data, page.data[-1].id if page.has_more and page.data else None

        return AsyncPages(read)

    @operation("redeliverWebhookEvent")
    async def redeliver(self, endpoint_id: str, event_id: str) -> Delivery:
        """Send one event again."""
        path = ("webhooks", endpoint_id, "deliveries", event_id, "redeliver")
        return await self._transport.ask(call("POST", *path, repeatable=False), Delivery)

    @operation("replayWebhookEvents")
    async def replay(
        self,
        endpoint_id: str,
        since: datetime | str,
        *,
        until: datetime | str | None = None,
        status: Iterable[DeliveryStatus | str] | None = None,
    ) -> Replay:
        """Send the events of a time range again; only those that ended with one of ``status``."""
        body = {"since": moment(since), "until": moment(until), "status": texts(status)}
        path = ("webhooks", endpoint_id, "replay")
        return await self._transport.ask(call("POST", *path, body=body, repeatable=False), Replay)
