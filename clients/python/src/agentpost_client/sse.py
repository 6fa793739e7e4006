"""Server-sent events: lines in, events out (WHATWG HTML, "Server-sent events")."""

from __future__ import annotations

import re
from dataclasses import dataclass

MEDIA_TYPE = "text/event-stream"
_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # at the end of a piece, \n may follow \r


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event. ``id`` is where a later connection goes on, None when the event says nothing."""

    name: str
    data: str
    id: str | None


class Lines:
    """Cuts the bytes of a stream into lines."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._is_first = True

    def feed(self, data: bytes) -> list[str]:
        """The lines, without their ends, that the next bytes complete."""
        self._begun.append(data)
        if b"\n" not in data and b"\r" not in data:
            return []  # a long line is looked through once
        *lines, rest = _END.split(b"".join(self._begun))
        self._begun = [rest]
        texts = [line.decode("utf-8", "replace") for line in lines]
        if texts and self._is_first:
            texts[0], self._is_first = texts[0].removeprefix("\ufeff"), False
        return texts


class EventLines:
    """Puts the lines of a stream together."""

    def __init__(self) -> None:
        self._name = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, line: str) -> ServerEvent | None:
        """The event that a line, without its end, completes.

        An event that only has an id tells where the stream stands: its ``data`` is empty.
        """
        if not line:
            return self._complete()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
        return None

    def _complete(self) -> ServerEvent | None:
        event = ServerEvent(self._name or "message", "\n".join(self._data), self._id)
        is_one = bool(self._data) or self._id is not None
        self._name, self._data, self._id = "", [], None
        return event if is_one else None
