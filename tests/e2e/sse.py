"""A reader of event streams, as browsers read them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.e2e.caller import Caller

ACCEPT = {"Accept": "text/event-stream"}


@dataclass
class Event:
    """One event; ``id`` is the last one that the stream told, with this event or before it."""

    name: str
    data: dict[str, Any]
    id: str


@dataclass
class Stream:
    """An open stream. ``comments`` counts what only keeps the connection alive."""

    answer: httpx2.Response
    id: str = ""
    retry: int | None = None
    comments: int = 0
    events: Iterator[Event] = field(init=False)

    def __post_init__(self) -> None:
        self.events = self._events()

    def __next__(self) -> Event:
        return next(self.events)

    def take(self, count: int) -> list[Event]:
        """The next events."""
        return [next(self) for _ in range(count)]

    def rest(self) -> list[Event]:
        """Every event until the server ends the stream."""
        return list(self.events)

    def begin(self) -> "Stream":
        """Read what every stream begins with: from then on nothing is missed."""
        while self.retry is None or not self.id:
            self._line(next(self._lines), {})
        return self

    def _events(self) -> Iterator[Event]:
        given: dict[str, str] = {}
        for line in self._lines:
            if line:
                self._line(line, given)
            elif "data" in given:
                yield Event(given.get("event", "message"), json.loads(given["data"]), self.id)
                given = {}
            else:
                given = {}

    def _line(self, line: str, given: dict[str, str]) -> None:
        name, _, value = line.partition(": ")
        if line.startswith(":"):
            self.comments += 1
        elif name == "id":
            self.id = value
        elif name == "retry":
            self.retry = int(value)
        else:
            given[name] = value

    @property
    def _lines(self) -> Iterator[str]:
        if not hasattr(self, "_read"):
            self._read = self.answer.iter_lines()
        return self._read


@contextmanager
def stream(caller: Caller, path: str, last_id: str | None = None) -> Iterator[Stream]:
    """Open a stream, again from where an earlier one was."""
    headers = ACCEPT if last_id is None else {**ACCEPT, "Last-Event-ID": last_id}
    with caller.http.stream("GET", path, headers=headers) as answer:
        if answer.status_code != 200:
            answer.read()
        caller.contract.check(answer)
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-store"
        yield Stream(answer)
