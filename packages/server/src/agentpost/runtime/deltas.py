"""Text that an agent shows while it writes it: told to who follows the message, recorded nowhere.

It is told at most every `_PAUSE_SECONDS` and in pieces that fit into a notice. What is said faster
than `_CHARACTERS_AT_ONCE` in that time waits, and what does not fit into `_WAITING_MAX` is left
out: its reader sees a gap in the offsets, and the recorded text comes anyway.
"""

import asyncio
import json
import threading

from agentpost.domain.limits import SAID_CHARACTERS_MAX
from agentpost.domain.text import storable
from agentpost.wakeups.base import Wakeups

_PAUSE_SECONDS = 0.05
_PIECE = 1_000  # characters; at six bytes each in JSON, a piece fits into `TEXT_BYTES_MAX`
_CHARACTERS_AT_ONCE = 4 * _PIECE
_WAITING_MAX = 64 * _PIECE


class Deltas:
    """What one run of a turn or job shows.

    Args:
        message_id: whose streams show it.
        job_id: which of the message's jobs writes it; None: its turn.
        epoch: of the run. What an earlier run has shown is dropped by its readers at once.

    Made on the agent loop; `add` is safe on any thread.
    """

    def __init__(self, wakeups: Wakeups, message_id: str, job_id: str | None, epoch: int) -> None:
        self._wakeups = wakeups
        self._message_id = message_id
        self._job_id = job_id
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._waiting = ""
        self._sent = 0
        self._said = 0
        self._left_out = 0
        self._timed = False
        self._over = False
        if epoch > 1:
            self._tell({"reset": True})

    def add(self, text: str, *, reset: bool = False) -> None:
        """Show a further piece of text; with ``reset`` readers drop what they have first. Raises
        `TypeError` for what is no text."""
        if not isinstance(text, str):
            raise TypeError(f"a delta must be a str, not {type(text).__name__}")
        with self._lock:
            if self._over:
                return
            if reset:
                self._waiting, self._sent, self._said, self._left_out = "", 0, 0, 0
                self._tell({"reset": True})
            text = storable(text)
            room = min(_WAITING_MAX - len(self._waiting), SAID_CHARACTERS_MAX - self._said)
            piece = "" if self._left_out else text[: max(room, 0)]
            self._waiting += piece
            self._said += len(text)
            self._left_out += len(text) - len(piece)
            if self._waiting and not self._timed:
                self._timed = True
                self._loop.call_soon_threadsafe(self._time)

    def close(self) -> None:
        """The run is over: tell what waits, and nothing after it."""
        with self._lock:
            if not self._over and self._said:
                self._flush(_WAITING_MAX)
            self._over = True

    def _time(self) -> None:
        self._loop.call_later(_PAUSE_SECONDS, self._due)

    def _due(self) -> None:
        with self._lock:
            self._timed = False
            if self._over:
                return
            self._flush(_CHARACTERS_AT_ONCE)
            if self._waiting:
                self._timed = True
                self._time()

    def _flush(self, most: int) -> None:
        now, self._waiting = self._waiting[:most], self._waiting[most:]
        for start in range(0, len(now), _PIECE):
            piece = now[start : start + _PIECE]
            self._tell({"offset": self._sent, "text": piece})
            self._sent += len(piece)
        if not self._waiting:
            self._sent, self._left_out = self._sent + self._left_out, 0

    def _tell(self, what: dict[str, object]) -> None:
        source = {
            "message_id": self._message_id,
            **({"job_id": self._job_id} if self._job_id else {}),
        }
        text = json.dumps({**source, **what}, ensure_ascii=False)
        self._wakeups.tell(self._message_id, text)
