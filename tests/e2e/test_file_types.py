"""A file of every kind, on its whole way: sent or uploaded, stored, read by the built-in agent.

A blob has no suffix, so what only works with a path like ``a.xlsx`` shows here.
"""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.posting import ready
from tests.e2e.server import AgentServer
from tests.extraction.hostile import BOMBS

ROWS = [("region", "orders"), ("North", 12), ("South", 30)]
SENTENCE = "The warehouse opens in April."
TOTAL = "What is the total of orders?"
ASKED = "Where does it say when the warehouse opens?"
HOSTILE_SECONDS = 60.0


def table(delimiter: str) -> bytes:
    return "\n".join(delimiter.join(map(str, row)) for row in ROWS).encode()


def excel() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    assert book.active is not None
    for row in ROWS:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def word() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Plan", 1)
    document.add_paragraph(SENTENCE)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def slides() -> bytes:
    from pptx import Presentation

    deck = Presentation()
    slide: Any = deck.slides.add_slide(deck.slide_layouts[1])
    slide.placeholders[1].text = SENTENCE
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def pdf() -> bytes:
    import typst

    made = typst.compile(SENTENCE.encode())
    assert isinstance(made, bytes)
    return made


def picture(form: str) -> Callable[[], bytes]:
    def draw() -> bytes:
        from PIL import Image

        buffer = io.BytesIO()
        Image.new("RGB", (20, 10), "red").save(buffer, form)
        return buffer.getvalue()

    return draw


def packed(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


TABLES: dict[str, Callable[[], bytes]] = {
    "a.csv": lambda: table(","),
    "a.tsv": lambda: table("\t"),
    "semicolons.csv": lambda: table(";"),
    "utf16.csv": lambda: table(",").decode().encode("utf-16"),
    "a.xlsx": excel,
    "a.xlsm": excel,
    "rows.json": lambda: json.dumps(
        [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]
    ).encode(),
}
TEXTS: dict[str, Callable[[], bytes]] = {
    "a.txt": SENTENCE.encode,
    "a.md": f"# Plan\n\n{SENTENCE}\n".encode,
    "a.json": lambda: json.dumps({"note": SENTENCE}).encode(),
    "a.yaml": f"note: {SENTENCE}\n".encode,
    "a.xml": f"<?xml version='1.0'?><note>{SENTENCE}</note>".encode,
    "a.html": f"<html><body><h1>Plan</h1><p>{SENTENCE}</body></html>".encode,
    "a.docx": word,
    "a.pptx": slides,
    "a.pdf": pdf,
    "without a suffix": SENTENCE.encode,
}
PICTURES: dict[str, Callable[[], bytes]] = {
    "a.png": picture("PNG"),
    "a.jpg": picture("JPEG"),
    "a.webp": picture("WEBP"),
}


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(agent="agentpost_offline:agent", pool_workers=2)


def send_file(caller: Caller, way: str, name: str, data: bytes, message: str) -> Json:
    """The final message about one file, sent inline or uploaded first."""
    if way == "inline":
        content = base64.b64encode(data).decode()
        sent = caller.send(message, files=[{"name": name, "base64": content}])
    else:
        sent = caller.send(message, upload_ids=[ready(caller, data, name)])
    return caller.final(sent["id"], HOSTILE_SECONDS)


def both_ways(kinds: Iterable[str]) -> pytest.MarkDecorator:
    """Each kind uploaded, the first one inline too: how a file came makes no kind different."""
    names = list(kinds)
    ways = [*((name, "uploaded") for name in names), (names[0], "inline")]
    return pytest.mark.parametrize(("name", "way"), ways)


@both_ways(TABLES)
def test_a_table_is_asked(caller: Caller, way: str, name: str) -> None:
    done = send_file(caller, way, name, TABLES[name](), TOTAL)
    assert "Total Orders: 42." in done["reply"], done
    assert f"Source: {name}" in done["reply"], done


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_a_table_is_charted(caller: Caller, name: str) -> None:
    done = send_file(caller, "uploaded", name, TABLES[name](), "Chart orders by region")
    assert done["status"] == "completed", done
    assert [file["name"] for file in done["files"] if "chart" in file["name"]], done


def test_a_word_that_is_not_understood_is_asked_about_for_no_credits(caller: Caller) -> None:
    before = caller.credits()
    upload = ready(caller, b"month,revenue\nJan,1\nFeb,2\n", "sales.csv")
    sent = caller.send("Chart cost by month", upload_ids=[upload], conversation="asked")
    first = caller.final(sent["id"], HOSTILE_SECONDS)
    assert first["question"] == "I did not understand “cost”."
    offer = first["answer_format"]["choices"][0]
    assert offer == "total Revenue by Month"
    assert first["jobs"] == []
    assert caller.credits() == before
    sent = caller.send(offer, conversation="asked")
    done = caller.final(sent["id"], HOSTILE_SECONDS)
    assert "sales-chart.png" in [file["name"] for file in done["files"]], done
    assert caller.credits() == before - 1


@both_ways(TEXTS)
def test_a_text_is_asked(caller: Caller, way: str, name: str) -> None:
    done = send_file(caller, way, name, TEXTS[name](), ASKED)
    assert "opens in April" in done["reply"], done
    assert f"Used: {name}" in done["reply"]


def test_what_is_in_an_archive_is_asked(caller: Caller) -> None:
    done = send_file(caller, "uploaded", "a.zip", packed("a.txt", SENTENCE.encode()), ASKED)
    assert "opens in April" in done["reply"], done
    assert "Used: a.txt" in done["reply"]
    done = send_file(caller, "uploaded", "b.zip", packed("data/b.csv", table(",")), TOTAL)
    assert "Total Orders: 42." in done["reply"], done
    assert "Source: b.csv" in done["reply"], done


@both_ways(PICTURES)
def test_no_passages_are_looked_for_in_a_picture(caller: Caller, way: str, name: str) -> None:
    done = send_file(caller, way, name, PICTURES[name](), ASKED)
    assert done["status"] == "needs_input"
    assert done["question"] == "I look for passages in documents, and there are none here."


@pytest.mark.parametrize(
    ("name", "make", "why"),
    [
        ("operators.pdf", BOMBS["operators.pdf"], "takes too much memory or time to read"),
        ("empty.html", lambda: b"<!doctype html><html><body></body></html>", "has no text in it"),
    ],
)
def test_a_hostile_file_is_named_and_the_others_are_read(
    server: AgentServer, caller: Caller, name: str, make: Callable[[], bytes], why: str
) -> None:
    uploads = [ready(caller, make(), name), ready(caller, SENTENCE.encode(), "a.txt")]
    done = caller.final(caller.send(ASKED, upload_ids=uploads)["id"], HOSTILE_SECONDS)
    assert done["status"] == "completed", done
    assert f"Not used: {name} {why}" in done["reply"]
    assert "opens in April" in done["reply"]
    if Path("/proc/self/status").exists():
        stays_small(server)


def stays_small(server: AgentServer) -> None:
    """No process that the server started ever held more than the bound, which is far below the
    limit of a worker's memory."""
    assert server.process is not None
    children = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    workers = [int(pid) for found in children for pid in found.read_text().split()]
    assert workers
    for pid in workers:
        status = Path(f"/proc/{pid}/status").read_text()
        peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        assert int(peak) // 1024 < 700
