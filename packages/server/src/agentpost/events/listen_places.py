"""Where `listen` stopped reading, for each server and each address it forwards to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentpost.cli import private_files
from agentpost.events.local_webhooks import place_name

if TYPE_CHECKING:
    from agentpost.cli.connection import Server

_FOLDER: Final = "listen"
_STORED: Final = ("server", "forward_to", "first", "cursor")


@dataclass(frozen=True, slots=True)
class Place:
    """A place among the events of a server. ``first``: where the first run began; ``cursor``:
    where to continue, None when nothing is kept."""

    path: Path
    server: str
    forward_to: str
    first: str | None = None
    cursor: str | None = None

    def at(self, cursor: str) -> Place:
        """The same further on."""
        return replace(self, cursor=cursor, first=self.first or cursor)

    def begun_again(self) -> Place:
        """The same without what was kept: those cursors are of another account, or too old."""
        return replace(self, cursor=None, first=None)

    def save(self) -> None:
        """Keep it; raises `OSError`."""
        fields = {name: getattr(self, name) for name in _STORED}
        private_files.write(self.path, json.dumps(fields) + "\n")


def load(server: Server, forward_to: str) -> Place:
    """The place that is kept, or a new one; a file that is damaged counts as none."""
    name = place_name(server)
    digest = hashlib.sha256(f"{name}\n{forward_to}".encode()).hexdigest()[:20]
    path = private_files.state_folder() / _FOLDER / f"{digest}.json"
    return _read(path) or Place(path, name, forward_to)


def latest_target(server: Server) -> str | None:
    """The address that `listen` last forwarded to, of those for this server."""
    files = (private_files.state_folder() / _FOLDER).glob("*.json")
    for path in sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True):
        place = _read(path)
        if place is not None and place.server == place_name(server) and place.forward_to:
            return place.forward_to
    return None


def _read(path: Path) -> Place | None:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return Place(path, *(fields[name] for name in _STORED))
    except (OSError, ValueError, KeyError, TypeError):
        return None
