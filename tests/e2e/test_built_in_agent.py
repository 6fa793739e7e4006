"""The built-in agent on its whole way: a file is sent or uploaded, stored and read in a worker
process; what is made of it is downloaded and opened.

Which kinds are read, by any name and from a path without a suffix, as a blob has it, is proved in
`packages/offline/tests` and `packages/agents/tests/extraction`.
"""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from PIL import Image

from tests.e2e.caller import Caller, Json
from tests.e2e.posting import ready
from tests.e2e.server import AgentServer
from tests.extraction.hostile import BOMBS
from tests.libraries import openpyxl, pptx

SECONDS = 90.0
ROWS = [("region", "orders"), ("North", 12), ("South", 30)]
SENTENCE = "The warehouse opens in April."
TOTAL = "What is the total of orders?"
ASKED = "Where does it say when the warehouse opens?"
SALES = [
    ("date", "shop", "revenue"),
    *(
        (f"2025-{month:02}-15", shop, 100 * month * (2 if shop == "Oslo" else 1))
        for month in range(1, 13)
        for shop in ("Oslo", "Bergen", "Bodø")
    ),
]


def table(rows: list[tuple[Any, ...]]) -> bytes:
    return "\n".join(",".join(map(str, row)) for row in rows).encode()


def excel() -> bytes:
    book = openpyxl.Workbook()
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


def pdf() -> bytes:
    import typst

    made = typst.compile(SENTENCE.encode())
    assert isinstance(made, bytes)
    return made


def picture() -> bytes:
    """One of 640 × 400."""
    buffer = io.BytesIO()
    Image.new("RGB", (640, 400), "#2a6f97").save(buffer, "JPEG")
    return buffer.getvalue()


def page() -> bytes:
    """A document with the table of sales."""
    cells = table(SALES).decode().replace(",", "<td>").replace("\n", "<tr><td>")
    return f"<html><body><h1>Sales</h1><table><tr><td>{cells}</table></body></html>".encode()


def packed(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def server(offline_server: AgentServer) -> AgentServer:
    return offline_server


def send_file(caller: Caller, name: str, data: bytes, message: str) -> Json:
    """The final message about one file that was uploaded."""
    sent = caller.send(message, upload_ids=[ready(caller, data, name)])
    return caller.final(sent["id"], SECONDS)


# --- what is read ---------------------------------------------------------------------------------
def test_a_table_is_asked(caller: Caller) -> None:
    """It is sent with the message."""
    content = base64.b64encode(excel()).decode()
    sent = caller.send(TOTAL, files=[{"name": "a.xlsx", "base64": content}])
    done = caller.final(sent["id"], SECONDS)
    assert "Total Orders: 42." in done["reply"], done
    assert "Source: a.xlsx" in done["reply"], done


@pytest.mark.parametrize(
    ("name", "make"), [("a.docx", word), ("a.pdf", pdf), ("without a suffix", SENTENCE.encode)]
)
def test_a_text_is_asked(caller: Caller, name: str, make: Callable[[], bytes]) -> None:
    done = send_file(caller, name, make(), ASKED)
    assert "opens in April" in done["reply"], done
    assert f"Used: {name}" in done["reply"]


def test_what_is_in_an_archive_is_asked(caller: Caller) -> None:
    done = send_file(caller, "a.zip", packed("a.txt", SENTENCE.encode()), ASKED)
    assert "opens in April" in done["reply"], done
    assert "Used: a.txt" in done["reply"]
    done = send_file(caller, "b.zip", packed("data/b.csv", table(ROWS)), TOTAL)
    assert "Total Orders: 42." in done["reply"], done
    assert "Source: b.csv" in done["reply"], done


def test_no_passages_are_looked_for_in_a_picture(caller: Caller) -> None:
    done = send_file(caller, "a.jpg", picture(), ASKED)
    assert done["status"] == "needs_input"
    assert done["question"] == "I look for passages in documents, and there are none here."


def test_a_hostile_file_is_named_and_the_others_are_read(
    server: AgentServer, caller: Caller
) -> None:
    for pid in workers(server):  # what they did for other tests is forgotten
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    uploads = [
        ready(caller, BOMBS["operators.pdf"](), "operators.pdf"),
        ready(caller, SENTENCE.encode(), "a.txt"),
    ]
    done = caller.final(caller.send(ASKED, upload_ids=uploads)["id"], SECONDS)
    assert done["status"] == "completed", done
    assert "Not used: operators.pdf takes too much memory or time to read" in done["reply"]
    assert "opens in April" in done["reply"]
    if Path("/proc/self/status").exists():
        stays_small(server)


def workers(server: AgentServer) -> list[int]:
    """The processes that the server started; none where the system does not tell."""
    children = Path(f"/proc/{server.pid}/task").glob("*/children")
    return [int(pid) for found in children for pid in found.read_text().split()]


def stays_small(server: AgentServer) -> None:
    """No process that the server started has held more than the bound, which is far below the
    limit of a worker's memory."""
    assert workers(server)
    for pid in workers(server):
        status = Path(f"/proc/{pid}/status").read_text()
        peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        assert int(peak) // 1024 < 700


# --- what is made ---------------------------------------------------------------------------------
def text_of(data: bytes) -> str:
    with pypdfium2.PdfDocument(io.BytesIO(data)) as document:
        return "".join(page.get_textpage().get_text_range() for page in document)


def slides(data: bytes) -> int:
    return len(list(pptx.Presentation(io.BytesIO(data)).slides))


def size(data: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(data)).size


RACE = "Make a bar chart race of revenue by shop, 3 seconds"


@pytest.mark.parametrize(
    ("message", "name", "make", "suffix", "is_right"),
    [
        ("Chart revenue by shop as a PDF", "sales.csv", lambda: table(SALES), ".pdf",
         lambda made: "Oslo" in text_of(made) and "sales.csv" in text_of(made)),
        ("Write a report about revenue as a PDF", "sales.html", page, ".pdf",
         lambda made: "Oslo" in text_of(made) and "sales.html" in text_of(made)),
        ("Make a deck of 5 slides", "sales.csv", lambda: table(SALES), ".pptx",
         lambda made: slides(made) == 5),
        ("Build me a website from this", "sales.csv", lambda: table(SALES), ".html",
         lambda made: made.lower().startswith(b"<!doctype html>")),
        ("crop it square", "shop.jpg", picture, ".jpg", lambda made: size(made) == (400, 400)),
        (RACE, "sales.csv", lambda: table(SALES), ".mp4", lambda made: made[4:8] == b"ftyp"),
    ],
    ids=["chart", "report", "deck", "site", "image", "video"],
)  # fmt: skip
def test_it_is_made_and_can_be_opened(
    caller: Caller, message: str, name: str, make: Callable[[], bytes], suffix: str,
    is_right: Callable[[bytes], bool],
) -> None:  # fmt: skip
    done = send_file(caller, name, make(), message)
    assert done["status"] == "completed", done
    (made,) = [file for file in done["files"] if file["name"].endswith(suffix)]
    assert is_right(caller.call("GET", made["url"]).content)


def test_changes_that_only_draw_again_and_undo_cost_nothing(caller: Caller) -> None:
    upload = ready(caller, table(SALES), "sales.csv")
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
