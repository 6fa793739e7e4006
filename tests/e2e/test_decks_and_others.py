"""Decks, sites, pictures and films of the built-in agent over real HTTP: asked for in words, made
in worker processes, downloaded and opened."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image
from pptx import Presentation

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.posting import ready
from tests.e2e.server import AgentServer

SECONDS = 90.0
ROWS = "\n".join(
    f"2025-{month:02}-15,{shop},{100 * month * (2 if shop == 'Oslo' else 1)}"
    for month in range(1, 13)
    for shop in ("Oslo", "Bergen", "Bodø")
)
TABLE = f"date,shop,revenue\n{ROWS}\n".encode()


def photo() -> bytes:
    """A picture of 640 × 400."""
    buffer = io.BytesIO()
    Image.new("RGB", (640, 400), "#2a6f97").save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(agent="agentpost_offline:agent", pool_workers=2)


def slides(data: bytes) -> Any:
    return len(list(Presentation(io.BytesIO(data)).slides))


def begin(data: bytes) -> Any:
    return data[:15].lower()


def size(data: bytes) -> Any:
    return Image.open(io.BytesIO(data)).size


def brand(data: bytes) -> Any:
    return data[4:8]


@pytest.mark.parametrize(
    ("message", "name", "content", "suffix", "look", "found"),
    [
        ("Make a deck of 5 slides", "sales.csv", TABLE, ".pptx", slides, 5),
        ("Build me a website from this", "sales.csv", TABLE, ".html", begin, b"<!doctype html>"),
        ("crop it square", "shop.jpg", photo(), ".jpg", size, (400, 400)),
        ("Make a bar chart race of revenue by shop, 3 seconds", "sales.csv", TABLE, ".mp4", brand,
         b"ftyp"),
    ],
    ids=["deck", "site", "image", "video"],
)  # fmt: skip
def test_it_is_made_and_can_be_opened(
    caller: Caller, message: str, name: str, content: bytes, suffix: str,
    look: Callable[[bytes], Any], found: Any,
) -> None:  # fmt: skip
    sent = caller.send(message, upload_ids=[ready(caller, content, name)])
    done = caller.final(sent["id"], SECONDS)
    assert done["status"] == "completed", done
    (made,) = [file for file in done["files"] if file["name"].endswith(suffix)]
    assert look(caller.call("GET", made["url"]).content) == found
