"""Text that an agent is writing, shown piece by piece, and not again when it comes as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentpost.domain.text import displayable

if TYPE_CHECKING:
    from agentpost_client import TextDelta, TextReset


_MISSED = "…"


class LiveText:
    """The text that is on the screen and has no end yet.

    Only one text is written at a time: pieces of another one are left out, as are those behind a
    gap. All of them come with their entry.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        """``write`` shows a piece as it is, without a line end."""
        self._write = write
        self._job_id: str | None = None
        self._shown = ""
        self._start = 0
        self._is_whole = True

    def delta(self, part: TextDelta) -> None:
        """Show a piece. A text whose beginning was missed is shown from there on."""
        if self._shown and part.job_id != self._job_id:
            return
        if not self._shown:
            self._job_id, self._start = part.job_id, part.offset
            self._is_whole = part.offset == 0
            if part.offset:
                self._write(_MISSED)
        if part.offset != self._start + len(self._shown):
            self._is_whole = False  # its entry has all of it
            return
        self._shown += part.text
        self._write(displayable(part.text))

    def reset(self, part: TextReset) -> None:
        """What was shown of that text does not hold; it is written anew below."""
        if self._shown and part.job_id == self._job_id:
            self.end()

    def take(self, job_id: str | None, text: str) -> bool:
        """End the line for an entry; true when its whole ``text`` is on the screen already."""
        is_same = bool(self._shown) and job_id == self._job_id and self._is_whole
        if is_same and text.startswith(self._shown):
            self._write(displayable(text.removeprefix(self._shown)))
            self._shown = text
        is_shown = is_same and self._shown.strip() == text.strip()
        self.end()
        return is_shown

    def end(self) -> None:
        """End the line, if there is one."""
        if self._shown:
            self._write("\n" * (not self._shown.endswith("\n")))
        self._shown = ""
