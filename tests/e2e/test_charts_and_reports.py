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
CELLS = TABLE.decode().strip().replace(",", "<td>").replace("\n", "<tr><td>")
PAGE = f"<html><body><h1>Sales</h1><table><tr><td>{CELLS}</table></body></html>".encode()
"""A document with the same table."""


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(agent="agentpost_offline:agent", pool_workers=2)


@pytest.mark.parametrize(
    ("message", "name", "data"),
    [
        ("Chart revenue by shop as a PDF", "sales.csv", TABLE),
        ("Write a report about revenue as a PDF", "sales.html", PAGE),
    ],
)
def test_it_is_made_and_can_be_opened(caller: Caller, message: str, name: str, data: bytes) -> None:
    sent = caller.send(message, upload_ids=[ready(caller, data, name)])
    done = caller.final(sent["id"], SECONDS)
    assert done["status"] == "completed", done["question"]
    (made,) = [file for file in done["files"] if file["name"].endswith(".pdf")]
    written = caller.call("GET", made["url"]).content
    with pypdfium2.PdfDocument(io.BytesIO(written)) as document:
        text = "".join(page.get_textpage().get_text_range() for page in document)
    assert "Oslo" in text
    assert name in text


def test_changes_that_only_draw_again_and_undo_cost_nothing(caller: Caller) -> None:
    upload = ready(caller, TABLE, "sales.csv")
    charged = []
    for text, uploads in (
        ("chart revenue by shop", [upload]), ("make it green", None), ("as SVG too", None),
        ("undo", None), ("only Oslo", None), ("call it Shops and sort it", None),
    ):  # fmt: skip
        more = {"upload_ids": uploads} if uploads else {}
        sent = caller.send(text, conversation="charges", **more)
        done = caller.final(sent["id"], SECONDS)
        assert done["status"] == "completed", done["question"]
        assert done["files"], text
        charged.append(done["credits_used"])
    assert charged == [1, 0, 0, 0, 1, 0]
