# Made by docs/client_sync.py from agentpost_client/_async/webhooks.py; change that.
"""Webhook endpoints and what was delivered to them. To receive: `agentpost_client.webhooks`."""

from __future__ import annotations

from agentpost_client._sync.calls import WebhookCalls
from agentpost_client._sync.pages import Pages
from agentpost_client.enums import DeliveryStatus
from agentpost_client.models import (
    DeliveryList,
    LoggedDelivery,
    WebhookEndpoint,
    WebhookEndpointList,
)
from agentpost_client.operations import operation
from agentpost_client.requests import call


class Webhooks(WebhookCalls):
    """The account's endpoints, and their deliveries."""

    @operation("listWebhookEndpoints")
    def list(self) -> tuple[WebhookEndpoint, ...]:
        """The account's endpoints, up to 10."""
        return (self._transport.ask(call("GET", "webhooks"), WebhookEndpointList)).data

    @operation("listWebhookDeliveries")
    def deliveries(
        self,
        endpoint_id: str,
        *,
        status: DeliveryStatus | str | None = None,
        limit: int | None = None,
        before: str | None = None,
    ) -> Pages[LoggedDelivery]:
        """What was delivered or tried, newest first, over all pages.

        ``limit`` is the size of a page; ``before`` an event's id, to start behind it.
        """

        def read(cursor: str | None) -> tuple[tuple[LoggedDelivery, ...], str | None]:
            query = {"limit": limit, "before": cursor or before, "status": status}
            request = call("GET", "webhooks", endpoint_id, "deliveries", query=query)
            page = self._transport.ask(request, DeliveryList)
            return page.data, page.data[-1].id if page.has_more and page.data else None

        return Pages(read)
