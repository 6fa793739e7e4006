"""The client's records are what their script makes of the server's classes, and read its
answers."""

import json
import runpy
from datetime import datetime
from typing import Any

import pytest

from agentpost.accounts.shapes import AgentShape
from agentpost.contract.shape import Maybe, Time, schemas
from agentpost.messages.shapes import MessageShape
from agentpost_client import models
from agentpost_client.records import Record
from tests.house.tree import DOCS, ROOT, document

SCRIPT = runpy.run_path(str(DOCS / "client_models.py"))
SENT = {
    "message": models.Message,
    "file": models.File,
    "events": models.EntryPage,
    "work": models.Work,
    "works": models.WorkList,
    "upload created": models.UploadTicket,
    "upload ready": models.Upload,
    "account": models.Account,
    "error": models.ErrorBody,
}
"""How the names of what was recorded begin -> what reads it."""


def answers() -> list[tuple[str, type[Record]]]:
    recorded = json.loads(document(ROOT / "packages/server/tests/contract/wire.json"))
    found = [
        (text, SENT[name])
        for key, text in recorded.items()
        for name in (key, key.partition(" ")[0])
        if name in SENT and "deleted" not in key
    ]
    assert {model for _, model in found} == set(SENT.values())
    return found


@pytest.mark.parametrize(("text", "model"), answers())
def test_every_field_of_an_answer_is_read(text: str, model: type[Record]) -> None:
    value = json.loads(text)
    assert plain(model.read(value)) == without_nulls(value)


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
