"""The client's records are what their script makes of the server's classes."""

import runpy
from datetime import datetime
from typing import Any

from agentpost.accounts.shapes import AgentShape
from agentpost.contract.shape import Maybe, Time, schemas
from agentpost.messages.shapes import MessageShape
from agentpost_client.records import Record
from tests.house.tree import DOCS

SCRIPT = runpy.run_path(str(DOCS / "client_models.py"))


def plain(read: Any) -> Any:
    """What a record holds of what was sent, as JSON has it."""
    match read:
        case Record():
            shown = {name: plain(getattr(read, name)) for name in vars(read) if name != "raw"}
            kept = {name: value for name, value in shown.items() if read.raw.get(name) is not None}
            return {**kept, **{name: read.raw[name] for name in ("object",) if name in read.raw}}
        case tuple():
            return [plain(each) for each in read]
        case datetime():
            return read.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return read


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


class Wider(MessageShape):
    """A message with more to say."""

    mood: str | None
    due_at: Maybe[Time]
    by: AgentShape


def test_a_field_is_declared_once() -> None:
    """It is in the document and in the client's record by that."""
    described = schemas([Wider])["Wider"]
    assert described["properties"]["due_at"]["format"] == "date-time"
    assert {"mood", "by"} <= set(described["required"])
    (made,) = (each for each in SCRIPT["models_of"]([Wider]) if "class Wider(" in each)
    for line in (
        "mood: str | None = None",
        "due_at: datetime | None = None",
        "by: AgentInfo = AgentInfo()",
    ):
        assert f"    {line}\n" in made
