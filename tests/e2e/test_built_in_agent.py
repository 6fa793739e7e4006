"""The built-in agent on its whole way: a file is sent or uploaded, stored and read in a worker
process; what is made of it is downloaded and opened.

Which kinds are read and what is understood, in which language, is proved in
`packages/offline/tests` and `packages/agents/tests/extraction`.
"""

from __future__ import annotations

import base64
import io
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
from tests.waiting import eventually

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


@pytest.mark.parametrize(("name", "make"), [("a.pdf", pdf), ("no suffix", SENTENCE.encode)])
def test_a_text_is_asked(caller: Caller, name: str, make: Callable[[], bytes]) -> None:
    done = send_file(caller, name, make(), ASKED)
    assert "opens in April" in done["reply"], done
    assert f"Used: {name}" in done["reply"]


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


# --- a conversation -------------------------------------------------------------------------------
TALKS = {
    "en": (
        ("make a bar chart of revenue by shop as svg", None, "Attach a table", 0),
        ("here it is", SALES[0], "sales-chart.svg", 1),
        ("make it green", None, "sales-chart-2.svg", 0),
        ("as PDF too", None, "sales-chart-3.pdf", 0),
        ("undo", None, "sales-chart-4", 0),
        ("only Oslo", None, "sales-chart-5", 1),
        ("What was the revenue in Bergen?", None, "7,800", 0),
    ),
    "ar": (
        ("ارسم مخططًا للإيرادات حسب المتجر", ("التاريخ", "المتجر", "الإيرادات"), "sales.csv", 1),
        ("ما إجمالي الإيرادات؟", None, "31,200", 0),
    ),
}
"""Each message, the names of the columns where the file comes with it, a text of the answer or name
of a file, and the credits."""


@pytest.mark.parametrize("language", TALKS)
def test_a_conversation(caller: Caller, language: str) -> None:
    """A change that only draws again costs nothing."""
    for message, columns, mark, cost in TALKS[language]:
        given = {}
        if columns:
            given["upload_ids"] = [ready(caller, table([columns, *SALES[1:]]), "sales.csv")]
        sent = caller.send(message, conversation=language, **given)
        done = caller.final(sent["id"], SECONDS)
        assert (done["status"] == "needs_input") == (mark == "Attach a table"), done["question"]
        works = [caller.work(job["work_id"])["text"] for job in done["jobs"]]
        names = [file["name"] for file in done.get("files") or []]
        said = filter(None, [done.get("reply"), done["question"], *works, *names])
        assert mark in "\n".join(said), message
        assert done["credits_used"] == cost, message


def test_stopped_work_is_started_again_with_its_file(caller: Caller) -> None:
    def job_of(message: Json) -> Json:
        jobs: list[Json] = eventually(lambda: caller.get(message["id"])["jobs"], SECONDS, "a job")
        return jobs[0]

    uploads = [ready(caller, table(SALES), "sales.csv")]
    sent = caller.send("make a film", conversation="stops", upload_ids=uploads)
    work = job_of(sent)["work_id"]
    assert caller.call("POST", f"/v1/work/{work}/stop").status_code == 200
    assert caller.final(sent["id"], SECONDS)["jobs"][0]["status"] == "cancelled"
    again = job_of(caller.send("start again", conversation="stops"))
    assert (again["title"], again["work_id"]) == ("Video from sales.csv", work)
    assert caller.call("POST", f"/v1/work/{work}/stop").status_code == 200
