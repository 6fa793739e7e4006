"""What `listen` and `trigger` print of each event: when, its name and id, and what the receiver
answered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from agentpost.cli.errors import one_line
from agentpost.cli.printing import Result, screen
from agentpost.clock import SystemClock
from agentpost.domain.times import SECOND

if TYPE_CHECKING:
    from agentpost.events.local_webhooks import Outcome
    from agentpost_client.events import Event

_NAME_WIDTH: Final = max(map(len, ("message.needs_input", "message.completed")))


def print_event(event: Event) -> None:
    """An event that is only shown."""
    parts = ((subject_of(event.raw), "dim"),)
    Result(event.raw, partial(_line, event.type, event.id, *parts)).print()


def print_outcome(name: str, event_id: str, outcome: Outcome) -> None:
    """The outcome of one attempt to send an event to a receiver."""
    record = {
        "id": event_id,
        "event": name,
        "status_code": outcome.status_code,
        "ms": outcome.ms,
        "error": outcome.error,
    }
    if outcome.is_taken:
        result = (str(outcome.status_code), "green")
    else:
        detail = f": {one_line(outcome.answer)}" if outcome.answer else ""
        result = (f"✗ {one_line(outcome.error or '')}{detail}", "red")
    Result(record, partial(_line, name, event_id, result, (f"{outcome.ms} ms", "dim"))).print()


def _line(name: str, event_id: str, *parts: tuple[str, str]) -> None:
    now = datetime.fromtimestamp(SystemClock().now() / SECOND, UTC)
    when = now.astimezone().strftime("%H:%M:%S")
    head = ((when, "dim"), (one_line(name).ljust(_NAME_WIDTH), ""), (one_line(event_id), ""))
    screen().columns(*head, *parts)


def subject_of(raw: Mapping[str, Any]) -> str:
    """The message or job that the event is about."""
    data = raw.get("data")
    about = data if isinstance(data, dict) else {}
    return one_line(str(about.get("job_id") or about.get("id") or ""))
