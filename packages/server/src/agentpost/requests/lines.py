"""A line for each request of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from agentpost.cli.errors import one_line

if TYPE_CHECKING:
    from agentpost_client.models import LoggedRequest, LoggedRequestDetails

_STYLES: Final = {2: "green", 3: "cyan", 4: "yellow", 5: "red"}


class RequestLines:
    """Lines on standard output; the status is coloured on a terminal."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)

    def line(self, one: LoggedRequest | LoggedRequestDetails) -> None:
        """When, the status, what was asked, how long it took, the error and the id."""
        when = one.created_at.astimezone().strftime("%H:%M:%S") if one.created_at else ""
        line = Text.assemble(
            (when, "dim"),
            "  ",
            (str(one.status), _STYLES.get(one.status // 100, "")),
            f"  {one_line(one.method):<6}  ",
            one_line(one.path),
            (f"  {one.ms} ms", "dim"),
        )
        if one.error:
            line.append(f"  {one_line(one.error)}", style="red")
        if one.key_name:
            line.append(f"  {one_line(one.key_name)}", style="dim")
        line.append(f"  {one_line(one.id)}", style="dim")
        self._console.print(line, soft_wrap=True)
