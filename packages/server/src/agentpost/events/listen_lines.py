"""What `listen` and `trigger` print of each event."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from agentpost.cli.printing import print_json
from agentpost.cli.show import one_line
from agentpost.clock import SystemClock
from agentpost.domain.times import SECOND

if TYPE_CHECKING:
    from agentpost.events.local_webhooks import Outcome
    from agentpost_client.events import Event

_NAME_WIDTH: Final = max(map(len, ("message.needs_input", "message.completed")))


class EventLines:
    """A line for each event: when, its name and id, and what the receiver answered."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._console = Console(highlight=False)

    def event(self, event: Event) -> None:
        """An event that is only shown."""
        if self._as_json:
            print_json(event.raw)
        else:
            self._line(event.type, event.id, Text(_subject(event.raw), style="dim"))

    def print_forwarded(self, event: Event, outcome: Outcome) -> None:
        """An event that was sent to a receiver."""
        self.print_sent(event.type, event.id, outcome)

    def print_sent(self, name: str, event_id: str, outcome: Outcome) -> None:
        """The outcome of one attempt."""
        if self._as_json:
            print_json(
                {
                    "id": event_id,
                    "event": name,
                    "status_code": outcome.status_code,
                    "ms": outcome.ms,
                    "error": outcome.error,
                }
            )
            return
        if outcome.is_taken:
            result = Text(f"{outcome.status_code}", style="green")
        else:
            detail = f": {one_line(outcome.answer)}" if outcome.answer else ""
            result = Text(f"✗ {one_line(outcome.error or '')}{detail}", style="red")
        self._line(name, event_id, result.append(f"  {outcome.ms} ms", style="dim"))

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
