"""Events enter the outbox in the transaction of the change they tell about.

spec: Webhook events 1-3; design: Webhook events.
"""

from collections.abc import Callable
from functools import partial

from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.contract.shape import Links, Shape, dumps
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.events import rows as event_rows
from agentpost.jobs import rows as job_rows
from agentpost.messages.shapes import MessageShape
from agentpost.record.events import EventName
from agentpost.record.records import JobRecord, MessageRecord, Snapshot
from agentpost.webhooks import delivery_rows
from agentpost.webhooks.endpoint_rules import DeliveryStatus, wants
from agentpost.webhooks.event_shapes import JobEventDataShape


class _LinksToCome:
    """File links are signed at each attempt, so a stored event holds none."""

    def __init__(self, links: Links) -> None:
        self.chat = links.chat

    def file(self, file_id: str, revision: str) -> str:
        return ""


def message_changed(
    tx: Tx,
    ctx: AppContext,
    name: EventName,
    message: MessageRecord,
    snapshot: Callable[[], Snapshot],
    now: int,
) -> None:
    """A ``message.*`` event: ``data`` is the message as a read would give it. ``snapshot`` is asked
    for only when somebody receives the event."""
    links = _LinksToCome(ctx.links)
    _add(tx, ctx, name, message, None, lambda: MessageShape.of(snapshot(), links), now)


def job_changed(
    tx: Tx, ctx: AppContext, name: EventName, message: MessageRecord, job: JobRecord, now: int
) -> None:
    """A ``job.*`` event, once, for the message that started the job."""

    def data() -> Shape:
        files, links = job_rows.files(tx, job.id), _LinksToCome(ctx.links)
        return JobEventDataShape.of_started(job, message, files, links)

    _add(tx, ctx, name, message, job.id, data, now)


def _add(
    tx: Tx,
    ctx: AppContext,
    name: EventName,
    message: MessageRecord,
    job_id: str | None,
    data: Callable[[], Shape],
    now: int,
) -> None:
    """Store the event when somebody receives or reads it; a disabled chosen endpoint drops it."""
    due: list[tuple[str, DeliveryStatus]] = []
    endpoints, kept_until = delivery_rows.receivers(tx, message.account_id)
    for endpoint_id, events, disabled in endpoints:
        is_chosen = endpoint_id == message.webhook_endpoint_id
        if message.webhook_endpoint_id is not None and not is_chosen:
            continue
        if not wants(events, name, chosen=is_chosen) or (disabled and not is_chosen):
            continue
        due.append((endpoint_id, DeliveryStatus.DROPPED if disabled else DeliveryStatus.PENDING))
    is_read = kept_until > now
    if not due and not is_read:
        return
    event_id = new_id(ids.EVENT, now)
    delivery_rows.add_event(
        tx, event_id, message.account_id, message.id, job_id, name, dumps(data()), now
    )
    for endpoint_id, status in due:
        delivery_rows.add_delivery(tx, event_id, endpoint_id, status, now)
    if due:
        tx.after(partial(ctx.deliveries_due, [endpoint_id for endpoint_id, _ in due]))
    if is_read:
        event_rows.add(tx, message.account_id, event_id)
