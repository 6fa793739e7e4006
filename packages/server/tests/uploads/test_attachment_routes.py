"""Files that come with a message, inline or by URL (spec: createMessage 4; design: Attachments;
Executables).
"""

import base64
import json
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.waiting import PATIENCE, PROMPT, eventually

MB = 2**20
ELF = b"\x7fELF\x02\x01\x01" + b"\0" * 57
MACH_O = struct.pack("<I", 0xFEEDFACF) + b"\0" * 28


class Origin(BaseHTTPRequestHandler):
    """A site with files to fetch; ``asked`` counts the requests for each path."""

    asked: Counter[str]
    ended = threading.Event()
    protocol_version = "HTTP/1.1"
    answers: ClassVar[dict[str, tuple[int, str, str, bytes]]] = {
        "/data.csv": (200, "Content-Type", "text/csv", b"a,b\n1,2\n"),
        "/huge": (200, "Content-Type", "application/octet-stream", b"x" * (10 * MB + 1)),
        "/ten": (200, "Content-Type", "application/octet-stream", b"x" * 10 * MB),
        "/program": (200, "Content-Type", "text/plain", ELF),
        "/moved": (302, "Location", "/data.csv", b""),
        "/inside": (302, "Location", "http://169.254.169.254/latest/meta-data/", b""),
    }

    def do_GET(self) -> None:
        self.asked[self.path] += 1
        if self.path == "/silent":
            Origin.ended.wait(PATIENCE)
            self.close_connection = True
            return
        missing = (404, "Content-Type", "text/plain", b"")
        status, header, value, body = self.answers.get(self.path, missing)
        self.send_response(status)
        self.send_header(header, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing on the console."""


class Site(ThreadingHTTPServer):
    """Clients that go away in the middle are part of the test."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Nothing on the console."""


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    Origin.asked = Counter()
    Origin.ended.clear()
    site = Site(("127.0.0.1", 0), Origin)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{site.server_port}"
    Origin.ended.set()
    site.shutdown()
    site.server_close()


@pytest.fixture(scope="module")
def server(start_server: ServerMaker, origin: str) -> AgentServer:
    return start_server(egress_allow=origin.partition("//")[2], fetch_seconds=8)


def inline(data: bytes, **fields: object) -> Json:
    return {"base64": base64.b64encode(data).decode(), **fields}


def files_seen(message: Json) -> list[Json]:
    """The files the agent saw; it sees the notes that the caller sees."""
    what = json.loads(message["reply"])
    assert what["notes"] == message["notes"]
    files: list[Json] = what["files"]
    return files


# --- inline bytes ---------------------------------------------------------------------------------
@pytest.mark.rule("InlineFile.name")
def test_inline_files_reach_the_agent(caller: Caller) -> None:
    files = [
        inline(b"a,b\n", name="t.csv"),
        inline(b"%PDF-1.7\n"),
        inline(b"x", name="../../e.txt"),
        inline(b"x", name=".gitignore"),
        inline(b"#!/bin/sh\nexit\n", name="run.\n\u202eexe"),
    ]
    message = caller.send([["see"]], files=files)

    assert message["notes"] == [
        f"{name}: its name was changed to this one, a plain file name."
        for name in ("e.txt", "run.exe")
    ]
    assert message["files"] == [], "what came in is no file the agent made"
    first, second, third, fourth, script = files_seen(message)
    assert (first["name"], first["size"], first["type"]) == ("t.csv", 4, "text/csv")
    assert second["type"] == "application/pdf"
    names = [each["name"] for each in (third, fourth, script)]
    assert names == ["e.txt", ".gitignore", "run.exe"], "a script is no program"
    assert (
        caller.send([["read"]], files=[inline("größe".encode(), name="a.txt")])["reply"] == "größe"
    )


@pytest.mark.rule("InlineFile.content_type")
def test_the_type_given_counts_where_bytes_do_not_tell(caller: Caller) -> None:
    files = [
        inline(b"# Notes\n", name="a", content_type="text/markdown"),
        inline(b"%PDF-1.7\n", name="b", content_type="text/markdown"),
        inline(b"# Notes\n", name="c", content_type=None),
    ]
    types = [file["type"] for file in files_seen(caller.send([["see"]], files=files))]
    assert types == ["text/markdown", "application/pdf", "text/plain"]


@pytest.mark.rule("createMessage.one-of-three")
def test_a_message_may_be_files_alone(caller: Caller) -> None:
    message = caller.send(files=[inline(b"x", name="a.txt")])
    assert message["reply"] == "You said:"


def test_files_reach_a_job(caller: Caller) -> None:
    message = caller.send(
        [["start_with_file", "F", [["files"]]]], files=[inline(b"x", name="a.txt")]
    )
    caller.final(message["id"])
    assert "files: a.txt" in [entry.get("step") for entry in caller.log(message["id"])]


@pytest.mark.rule(
    "Message.notes",
    "InlineFile.one-of-both",
    "createMessage.files",
    "createMessage 4",
    "Limits inline-files",
)
@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ({"base64": "not base64!", "name": "a"}, "base64"),
        ({"base64": "eA==", "url": "https://example.com/x", "name": "a"}, "both"),
        (inline(ELF, name="a.txt"), "executable"),
        (inline(MACH_O, name="a.pdf"), "executable"),
        (inline(b"x" * (10 * MB + 1), name="a"), "10 MB"),
    ],
)
def test_a_file_that_cannot_be_taken_is_a_note(caller: Caller, file: Json, problem: str) -> None:
    message = caller.send([["see"]], files=[file, inline(b"x", name="good.txt")])

    assert message["status"] == "completed"
    [note] = message["notes"]
    assert note.startswith("a")
    assert problem in note
    assert [f["name"] for f in files_seen(message)] == ["good.txt"]


@pytest.mark.rule("InlineFile.base64")
@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 0),
        ("/+8=", 2),
        ("aGVs\nbG8=\n", 5),
        ("aGVs\r\nbG8=", 5),
        ("_-8=", None),
        ("aGVsbG8", None),
        ("aGVsbG8==", None),
        ("aGVs bG8=", None),
        ("aGVs=bG8=", None),
        ("aGVsbG8=aGVsbG8=", None),
        ("data:text/plain;base64,aGVsbG8=", None),
        ("====", None),
        ("a", None),
        (" ", None),
        ("\uff41\uff27\uff36\uff53", None),
    ],
    ids=ascii,
)
def test_base64_is_the_standard_one(caller: Caller, text: str, size: int | None) -> None:
    """With its padding, in lines or not; anything else is a note (design: Attachments)."""
    message = caller.send([["see"]], files=[{"base64": text, "name": "a"}])
    assert [f["size"] for f in files_seen(message)] == ([] if size is None else [size])
    assert len(message["notes"]) == (size is None)


@pytest.mark.rule("createMessage.files", "Limits inline-files")
@pytest.mark.parametrize("count", [7, 1_000])
def test_only_the_first_five_are_taken(caller: Caller, count: int) -> None:
    files = [inline(b"x", name=f"{n}.txt") for n in range(count)]
    message = caller.send([["see"]], files=files)
    assert [f["name"] for f in files_seen(message)] == [f"{n}.txt" for n in range(5)]
    [note] = message["notes"]
    assert f"{count - 5} more files" in note


@pytest.mark.rule("createMessage.files", "Limits inline-files")
def test_five_files_of_ten_megabytes_pass_with_notes(caller: Caller) -> None:
    files = [inline(bytes([n]) * 10 * MB, name=f"{n}.bin") for n in range(5)]
    message = caller.send([["see"]], files=files)
    assert [f["name"] for f in files_seen(message)] == ["0.bin", "1.bin"]
    assert len(message["notes"]) == 3
    assert all("25 MB" in note for note in message["notes"])


def count_blob_files(server: AgentServer) -> int:
    blobs = server.home / "data" / "blobs"
    return sum(1 for path in blobs.rglob("*") if path.is_file())


def count_references(server: AgentServer) -> int:
    """Blobs that something names."""
    named = "SELECT blob FROM {} WHERE blob IS NOT NULL"
    return sum(len(server.rows(named.format(table))) for table in ("attachments", "files"))


@pytest.mark.databases("sqlite", "postgres")
def test_repeats_and_refusals_store_nothing(caller: Caller, server: AgentServer) -> None:
    files = [inline(b"once", name="a.txt")]
    before = count_references(server)
    with ThreadPoolExecutor(10) as pool:
        repeats = [pool.submit(caller.post, [["read"]], "blob", files=files) for _ in range(30)]
    answers = [repeat.result() for repeat in repeats]
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 29}
    assert caller.post("other", key="blob", files=files).status_code == 409
    assert caller.post("x", files=files, webhook_endpoint_id="whe_0").status_code == 404
    assert count_references(server) == before + 1
    eventually(
        lambda: count_blob_files(server) == before + 1, what="what was stored for nothing going"
    )


# --- URLs -----------------------------------------------------------------------------------------
@pytest.mark.rule("InlineFile.url")
def test_a_url_is_fetched_once(caller: Caller, origin: str) -> None:
    files = [{"url": f"{origin}/data.csv"}, {"url": f"{origin}/moved", "name": "named.csv"}]
    before = Origin.asked["/data.csv"]
    message = caller.send([["see"]], files=files)
    assert message["notes"] == []
    assert [(f["name"], f["size"]) for f in files_seen(message)] == [
        ("data.csv", 8),
        ("named.csv", 8),
    ]
    assert Origin.asked["/data.csv"] - before == 2


@pytest.mark.rule("Message.notes", "createMessage 4")
@pytest.mark.parametrize(
    "path", ["/missing", "/huge", "/program", "/silent", "/inside"], ids=lambda path: path[1:]
)
def test_a_url_that_gives_nothing_usable_is_a_note(caller: Caller, origin: str, path: str) -> None:
    message = caller.send([["see"]], files=[{"url": origin + path}])
    assert message["status"] == "completed"
    assert len(message["notes"]) == 1
    assert files_seen(message) == []


@pytest.mark.rule("InlineFile.url")
@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/x",
        "https://169.254.169.254/latest/meta-data",
        "https://user:pass@example.com/",
        "file:///etc/passwd",
        "https://no-such-host.invalid/",
        "not a url",
        "",
        "https://[",
        "https://" + "a" * 5000,
    ],
)
def test_an_address_that_must_not_be_fetched_is_a_note(caller: Caller, url: str) -> None:
    began = time.monotonic()
    message = caller.send([["see"]], files=[{"url": url, "name": "f"}])
    assert time.monotonic() - began < PROMPT
    assert message["status"] == "completed"
    [note] = message["notes"]
    assert note.startswith("f: ")


def test_urls_count_to_the_total(caller: Caller, origin: str) -> None:
    files = [{"url": f"{origin}/ten", "name": f"{n}"} for n in range(3)]
    message = caller.send([["see"]], files=files)
    assert len(files_seen(message)) == 2
    [note] = message["notes"]
    assert "25 MB" in note
