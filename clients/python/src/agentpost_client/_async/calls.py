"""What is one request of the API each. Made by docs/client_methods.py from the server's table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from agentpost_client._async.transport import AsyncTransport
from agentpost_client.enums import (
    DeliveryStatus,
    EventName,
)
from agentpost_client.models import (
    DeletedMessage,
    DeletedSchedule,
    DeletedWebhookEndpoint,
    DeletedWork,
    Delivery,
    LoggedRequestDetails,
    Message,
    NewWebhookEndpoint,
    Recovery,
    Replay,
    RotatedSecret,
    Schedule,
    Upload,
    UploadTicket,
    WebhookEndpoint,
    WebhookEndpointDetails,
    Work,
)
from agentpost_client.operations import operation
from agentpost_client.requests import call, moment, texts, without_nones


class AsyncMessageCalls:
    """Of ``client.messages``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @operation("recoverMessage")
    async def recover(self, message_id: str, max_credits: float | None = None) -> Recovery:
        """Watch a message's expired work again.

        Work that did not report back in time has expired for its message, but may continue.
        This call checks again and returns a result that came late. No work is started, and
        the message is not sent again. With ``max_credits``, work that is parked because the
        message may use no more credits continues as far as they reach. Needs a key with the
        scope ``send``.

        Args:
            max_credits: What the message's work may use from now on; parked work
                continues.
        """
        body = without_nones({"max_credits": max_credits}) or None
        request = call("POST", "messages", message_id, "recover", body=body)
        return await self._transport.ask(request, Recovery)

    @operation("cancelMessage")
    async def cancel(self, message_id: str) -> Message:
        """Stop everything that still runs for a message.

        The agent's turn ends, and so does every job of the message that runs or waits, with
        the files it has made so far; also a job that the message only joined. The message is
        final then. A message for which nothing runs stays as it is. Needs a key with the
        scope ``send``.
        """
        request = call("POST", "messages", message_id, "cancel")
        return await self._transport.ask(request, Message)

    @operation("deleteMessage")
    async def delete(self, message_id: str) -> DeletedMessage:
        """Delete a final message.

        It cannot be undone. The message, its log, its events and what came with it are
        deleted, as at the end of its retention; works and their files stay. It answers 404
        from then on. Needs a key with the scope ``admin``.
        """
        request = call("DELETE", "messages", message_id)
        return await self._transport.ask(request, DeletedMessage)


class AsyncUploadCalls:
    """Of ``client.uploads``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @operation("createUpload")
    async def create(
        self, filename: str, size: int, content_type: str | None = None
    ) -> UploadTicket:
        """Announce a large file.

        The first of three steps. Then post the file as ``multipart/form-data`` to ``url``, with
        every one of ``fields`` as a form field and the file last, as the field ``file``, before
        ``expires_at``. Then call ``uploads.complete``; from then on a message can name the
        upload. Needs a key with the scope ``send``.

        Args:
            filename: The file's name.
            size: Exact bytes, up to 500 MB; the upload is capped at it.
            content_type: MIME type; guessed from the name when omitted or empty.
        """
        body = {"filename": filename, "size": size, "content_type": content_type}
        request = call("POST", "uploads", body=body)
        return await self._transport.ask(request, UploadTicket)

    @operation("completeUpload")
    async def complete(self, upload_id: str) -> Upload:
        """Check a posted file and make it ready for a message.

        Checks the real size and refuses programs. An upload that no message attaches within a
        day is deleted. A repeated call gives the same answer. Needs a key with the scope
        ``send``.
        """
        request = call("POST", "uploads", upload_id, "complete")
        return await self._transport.ask(request, Upload)


class AsyncWorkCalls:
    """Of ``client.work``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @operation("stopWork")
    async def stop(self, work_id: str) -> Work:
        """Stop everything that runs or waits in a work.

        Its jobs end as ``cancelled``, with the files they have made so far. A work in which
        nothing runs stays as it is. Needs a key with the scope ``send``.

        When its answer is lost, it is not sent again by itself.
        """
        request = call("POST", "work", work_id, "stop", repeatable=False)
        return await self._transport.ask(request, Work)

    @operation("deleteWork")
    async def delete(self, work_id: str) -> DeletedWork:
        """Stop what runs in a work and delete it with its files.

        It cannot be undone. The work and its files answer 404 from then on. Needs a key with
        the scope ``admin``.
        """
        request = call("DELETE", "work", work_id)
        return await self._transport.ask(request, DeletedWork)


class AsyncRequestCalls:
    """Of ``client.requests``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @operation("getRequest")
    async def get(self, request_id: str) -> LoggedRequestDetails:
        """Read a request with its bodies.

        Bodies are kept without secrets, long ones in part. ``request_id`` is what the answer
        had as ``Request-Id``; a request is there about a second after it ended. Needs a key
        with the scope ``read``.
        """
        request = call("GET", "requests", request_id)
        return await self._transport.ask(request, LoggedRequestDetails)


class AsyncScheduleCalls:
    """Of ``client.schedules``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @operation("getSchedule")
    async def get(self, schedule_id: str) -> Schedule:
        """Read a schedule.

        The schedule with its next and its last run. Needs a key with the scope ``read``.
        """
        request = call("GET", "schedules", schedule_id)
        return await self._transport.ask(request, Schedule)

    @operation("updateSchedule")
    async def update(self, schedule_id: str, *, paused: bool | None = None) -> Schedule:
        """Pause or continue a schedule.

        Times that pass while it is paused are not missed runs. Needs a key with the scope
        ``send``.

        Args:
            paused: While paused it does not run.
        """
        body = {"paused": paused}
        request = call("PATCH", "schedules", schedule_id, body=body)
        return await self._transport.ask(request, Schedule)

    @operation("deleteSchedule")
    async def delete(self, schedule_id: str) -> DeletedSchedule:
        """Delete a schedule.

        The messages that it has sent stay. Needs a key with the scope ``send``.
        """
        request = call("DELETE", "schedules", schedule_id)
        return await self._transport.ask(request, DeletedSchedule)


class AsyncWebhookCalls:
    """Of ``client.webhooks``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @operation("createWebhookEndpoint")
    async def create(
        self, url: str, events: Iterable[str] | None = None, description: str | None = None
    ) -> NewWebhookEndpoint:
        """Register a webhook endpoint.

        The endpoint receives signed events from now on, those of ``events`` or all. Keep its
        ``secret``: it verifies the signatures and is shown this once. Each call creates another
        endpoint. Needs a key with the scope ``admin``.

        When its answer is lost, it is not sent again by itself.

        Args:
            url: Public https address on port 443 or 8443, up to 2,000 characters, without
                user name.
            events: Names of events, or ["*"] for all of them.
            description: A note of your own, up to 120 characters.
        """
        body = {"url": url, "events": texts(events), "description": description}
        request = call("POST", "webhooks", body=body, repeatable=False)
        return await self._transport.ask(request, NewWebhookEndpoint)

    @operation("getWebhookEndpoint")
    async def get(self, endpoint_id: str) -> WebhookEndpointDetails:
        """Read a webhook endpoint and its newest deliveries.

        With the 20 newest deliveries and what the receiver answered to each. Needs a key with
        the scope ``admin``.
        """
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
        """Change a webhook endpoint, disable or enable it.

        Only the fields that are given change. Turning an endpoint off drops what is pending
        for it; turning it on forgets its failures. Needs a key with the scope ``admin``.

        Args:
            url: Public https address on port 443 or 8443, up to 2,000 characters, without
                user name.
            events: Names of events, or ["*"] for all of them.
            description: A note of your own, up to 120 characters.
            enabled: ``false`` turns it off, ``true`` on again, its failures forgotten.
        """
        body = {"url": url, "events": texts(events), "description": description, "enabled": enabled}
        request = call("PATCH", "webhooks", endpoint_id, body=body)
        return await self._transport.ask(request, WebhookEndpoint)

    @operation("deleteWebhookEndpoint")
    async def delete(self, endpoint_id: str) -> DeletedWebhookEndpoint:
        """Remove a webhook endpoint.

        Deliveries that are pending are cancelled. A second call answers 404. Needs a key with
        the scope ``admin``.
        """
        request = call("DELETE", "webhooks", endpoint_id)
        return await self._transport.ask(request, DeletedWebhookEndpoint)

    @operation("rotateWebhookSecret")
    async def rotate_secret(
        self, endpoint_id: str, grace_seconds: int | None = None
    ) -> RotatedSecret:
        """Replace the secret of a webhook endpoint.

        The new ``secret`` is shown this once and signs every later delivery, retries of older
        events too. With ``grace_seconds`` the old one signs beside it for a while, so that
        receivers can be changed without losing an event. Needs a key with the scope ``admin``.

        When its answer is lost, it is not sent again by itself.

        Args:
            grace_seconds: For so long deliveries are signed with both secrets.
        """
        body = without_nones({"grace_seconds": grace_seconds}) or None
        request = call(
            "POST", "webhooks", endpoint_id, "rotate-secret", body=body, repeatable=False
        )
        return await self._transport.ask(request, RotatedSecret)

    @operation("testWebhookEndpoint")
    async def test(self, endpoint_id: str, event: EventName | str | None = None) -> Delivery:
        """Send a test event.

        The endpoint gets a ``webhook.test`` event, subscribed to it or not; with ``event`` a
        sample of that one, signed like the real ones. A sample says ``test: true``, its ids end
        in zeros and nothing in it exists. Needs a key with the scope ``admin``.

        When its answer is lost, it is not sent again by itself.

        Args:
            event: A sample of this event is sent instead of ``webhook.test``.
        """
        body = without_nones({"event": event}) or None
        request = call("POST", "webhooks", endpoint_id, "test", body=body, repeatable=False)
        return await self._transport.ask(request, Delivery)

    @operation("redeliverWebhookEvent")
    async def redeliver(self, endpoint_id: str, event_id: str) -> Delivery:
        """Send a delivery again.

        At once, with the same ``webhook-id``, whether it was delivered before or not. Needs a
        key with the scope ``admin``.

        When its answer is lost, it is not sent again by itself.
        """
        request = call(
            "POST", "webhooks", endpoint_id, "deliveries", event_id, "redeliver", repeatable=False
        )
        return await self._transport.ask(request, Delivery)

    @operation("replayWebhookEvents")
    async def replay(
        self,
        endpoint_id: str,
        since: datetime | str,
        *,
        until: datetime | str | None = None,
        status: Iterable[DeliveryStatus | str] | None = None,
    ) -> Replay:
        """Send the deliveries of a time range again.

        All of them that have ended, dropped ones included, or only those of ``status``. For
        receivers that were down for longer than deliveries are retried. Needs a key with the
        scope ``admin``.

        When its answer is lost, it is not sent again by itself.

        Args:
            since: Beginning of the time range, ISO 8601 with offset.
            until: Its end, exclusive; without it, now.
            status: Only deliveries that ended so; without it, all.
        """
        body = {"since": moment(since), "until": moment(until), "status": texts(status)}
        request = call("POST", "webhooks", endpoint_id, "replay", body=body, repeatable=False)
        return await self._transport.ask(request, Replay)
