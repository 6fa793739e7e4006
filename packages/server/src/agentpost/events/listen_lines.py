"""What `listen` and `trigger` print of each event."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from agentpost.cli.errors import one_line
from agentpost.cli.printing import Result
from agentpost.clock import SystemClock
from agentpost.domain.times import SECOND

if TYPE_CHECKING:
    from agentpost.events.local_webhooks import Outcome
    from agentpost_client.events import Event

_NAME_WIDTH: Final = max(map(len, ("message.needs_input", "message.completed")))


class EventLines:
    """A line for each event: when, its name and id, and what the receiver answered."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)

    def event(self, event: Event) -> None:
        """An event that is only shown."""
        subject = Text(_subject(event.raw), style="dim")
        Result(event.raw, partial(self._line, event.type, event.id, subject)).print()

    def outcome(self, name: str, event_id: str, outcome: Outcome) -> None:
        """The outcome of one attempt to send an event to a receiver."""
        record = {
            "id": event_id,
            "event": name,
            "status_code": outcome.status_code,
            "ms": outcome.ms,
            "error": outcome.error,
        }
        if outcome.is_taken:
            result = Text(f"{outcome.status_code}", style="green")
        else:
            detail = f": {one_line(outcome.answer)}" if outcome.answer else ""
            result = Text(f"✗ {one_line(outcome.error or '')}{detail}", style="red")
        result.append(f"  {outcome.ms} ms", style="dim")
        Result(record, partial(self._line, name, event_id, result)).print()

    def _line(self, name: str, event_id: str, rest: Text) -> None:
        now = datetime.fromtimestamp(SystemClock().now() / SECOND, UTC)
        when = now.astimezone().strftime("%H:%M:%S")
        line = Text.assemble(
            (when, "dim"), "  ", one_line(name).ljust(_NAME_WIDTH), "  ", (one_line(event_id), "")
        )
        self._console.print(line.append("  ").append(rest), soft_wrap=True)


def _subject(raw: Mapping[str, Any]) -> str:
    """The message or job that the event is about."""
    data = raw.get("data")
    if not isinstance(data, dict):
        return ""
    return one_line(str(data.get("job_id") or data.get("id") or ""))
