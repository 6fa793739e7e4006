"""Charts and reports of the built-in agent over real HTTP: asked for, made in worker processes,
downloaded and opened."""

from __future__ import annotations

import io

import pypdfium2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.posting import ready
from tests.e2e.server import AgentServer

SECONDS = 60.0
ROWS = "\n".join(
    f"2025-{month:02}-15,{shop},{100 * month * (2 if shop == 'Oslo' else 1)}"
    for month in range(1, 13)
    for shop in ("Oslo", "Bergen")
)
TABLE = f"date,shop,revenue\n{ROWS}\n".encode()


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(agent="agentpost_offline:agent", pool_workers=2)


@pytest.mark.parametrize(
    ("message", "suffix", "found"),
    [
        ("Chart revenue by shop as a PDF", ".pdf", "Oslo"),
        ("Write a report about revenue as a PDF", ".pdf", "Oslo"),
    ],
)
def test_it_is_made_and_can_be_opened(
    caller: Caller, message: str, suffix: str, found: str
) -> None:
    sent = caller.send(message, upload_ids=[ready(caller, TABLE, "sales.csv")])
    done = caller.final(sent["id"], SECONDS)
    assert done["status"] == "completed", done["question"]
    (made,) = [file for file in done["files"] if file["name"].endswith(suffix)]
    data = caller.call("GET", made["url"]).content
    with pypdfium2.PdfDocument(io.BytesIO(data)) as document:
        text = "".join(page.get_textpage().get_text_range() for page in document)
    assert found in text
    assert "sales.csv" in text
