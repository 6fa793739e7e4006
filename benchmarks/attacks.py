"""What one account can do to the others within its limits, one attack a function.

Each runs until it is cancelled. None is told what it breaks: what is refused is sent again.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import itertools
import json
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache

import aiohttp

from benchmarks.deliveries import receiving
from benchmarks.fairness_agent import BLOCK
from benchmarks.held import HeldWait
from benchmarks.load import Load, LoadError
from benchmarks.servers import Server

Attack = Callable[[Server], Awaitable[None]]

HTML_BYTES = 210_000
ARABIC_CHARACTERS = 390_000
DOCX_ELEMENTS = 60_000_000
XLSX_CELLS = 12_000_000
BODY_BYTES = 90 * 2**20
BODIES_AT_ONCE = 3
FILES_AT_ONCE = 6
BLOCKING_JOBS = 5
HELD_WAITS = 400
SLOW_ENDPOINTS = 10
PAUSE_SECONDS = 0.25
FAILURES = (LoadError, aiohttp.ClientError, OSError, EOFError, TimeoutError)


# --- files ----------------------------------------------------------------------------------------
@cache
def html() -> bytes:
    """Tags that are never closed: parsers that look for the end of each read it all again."""
    return b"<a " * (HTML_BYTES // 3)


@cache
def arabic() -> bytes:
    """One paragraph that a typesetter has to break into lines."""
    return ("مرحبا بالعالم " * (ARABIC_CHARACTERS // 14)).encode()


@cache
def docx() -> bytes:
    """A small file of very many empty elements."""
    head = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    element = b"<a/>"
    return _packed(
        "word/document.xml", head + b"<w:body>", element, DOCX_ELEMENTS, b"</w:body></w:document>"
    )


@cache
def xlsx() -> bytes:
    """A workbook whose only row has very many cells."""
    head = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    cell = b"<c><v>1</v></c>"
    return _packed(
        "xl/worksheets/sheet1.xml",
        head + b"<sheetData><row>",
        cell,
        XLSX_CELLS,
        b"</row></sheetData></worksheet>",
        {
            "[Content_Types].xml": _CONTENT_TYPES,
            "_rels/.rels": _RELATION.format("officeDocument", "xl/workbook.xml"),
            "xl/_rels/workbook.xml.rels": _RELATION.format("worksheet", "worksheets/sheet1.xml"),
            "xl/workbook.xml": _WORKBOOK,
        },
    )


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATION = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/{{}}" Target="{{}}"/></Relationships>'
)
_SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEETS}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEETS}.worksheet+xml"/>'
    "</Types>"
)
_WORKBOOK = (
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    f'xmlns:r="{_OFFICE}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>'
)


def _packed(
    name: str,
    head: bytes,
    element: bytes,
    times: int,
    tail: bytes,
    others: dict[str, str] | None = None,
) -> bytes:
    """A ZIP file whose one part has that element so often."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, text in (others or {}).items():
            archive.writestr(other, text)
        with archive.open(name, "w") as part:
            part.write(head)
            chunk = 100_000
            for _ in range(times // chunk):
                part.write(element * chunk)
            part.write(tail)
    return made.getvalue()


def _files(name: str, make: Callable[[], bytes], text: str) -> Attack:
    """Keep sending that file with that message, in conversations of their own."""

    async def attack(server: Server) -> None:
        content = base64.b64encode(await asyncio.to_thread(make)).decode()
        file = {"name": name, "base64": content}

        async def client(load: Load, number: int) -> None:
            for n in itertools.count():
                body = {"message": text, "files": [file], "conversation": f"{name}-{number}-{n}"}
                with contextlib.suppress(*FAILURES):
                    await load.write("/v1/messages", body, 201)
                await asyncio.sleep(PAUSE_SECONDS)

        async with Load(server) as load, asyncio.TaskGroup() as clients:
            for number in range(FILES_AT_ONCE):
                clients.create_task(client(load, number))

    return attack


# --- everything else ------------------------------------------------------------------------------
async def steps(server: Server) -> None:
    """As many jobs as the account may run, each in a step that does not end."""
    async with Load(server) as load:
        for number in range(BLOCKING_JOBS):
            await load.send(BLOCK, f"block-{number}")
        await asyncio.Event().wait()


async def bodies(server: Server) -> None:
    """Bodies near the limit whose file is over its own, which is found out by decoding it."""
    start = b'{"files":[{"name":"a.bin","base64":"'
    body = start + b"A" * (BODY_BYTES - len(start)) + b'"}]}'
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}

    async def client(session: aiohttp.ClientSession) -> None:
        while True:
            with contextlib.suppress(*FAILURES):
                async with session.post("/v1/messages", data=_chunks(body)) as answer:
                    await answer.read()
            await asyncio.sleep(PAUSE_SECONDS)

    async with (
        aiohttp.ClientSession(server.url, headers=headers) as session,
        asyncio.TaskGroup() as clients,
    ):
        for _ in range(BODIES_AT_ONCE):
            clients.create_task(client(session))


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 2**18):
        yield body[at : at + 2**18]


async def waits(server: Server) -> None:
    """Reads that are held, opened again as they end."""
    async with Load(server) as load:
        message = await load.send(BLOCK, "held")

        async def client() -> None:
            while True:
                held = HeldWait(server, str(message["id"]))
                with contextlib.suppress(*FAILURES):
                    await held.open()
                    assert held.answer is not None
                    await held.answer
                await held.close()
                await asyncio.sleep(PAUSE_SECONDS)

        async with asyncio.TaskGroup() as clients:
            for _ in range(HELD_WAITS):
                clients.create_task(client())


async def receivers(server: Server) -> None:
    """Webhook endpoints that answer as late as is still a success, with a backlog each."""
    async with Load(server) as load, receiving() as sink:
        paths = []
        for number in range(SLOW_ENDPOINTS):
            made = await load.write("/v1/webhooks", {"url": sink.url(f"slow-{number}")}, 201)
            paths.append(f"/v1/webhooks/{made['id']}")
        for path in itertools.cycle(paths):
            with contextlib.suppress(*FAILURES):
                await load.write(f"{path}/test", {}, 201)
            await asyncio.sleep(PAUSE_SECONDS / 2)  # 480 a minute: an account may make 600 requests


QUESTION = "What does this file say about revenue?"
ATTACKS: dict[str, Attack] = {
    "html": _files("x.html", html, QUESTION),
    "arabic": _files("x.txt", arabic, "Turn this file into a PDF report"),
    "docx": _files("x.docx", docx, QUESTION),
    "xlsx": _files("x.xlsx", xlsx, "What is the total of column A?"),
    "steps": steps,
    "bodies": bodies,
    "waits": waits,
    "receivers": receivers,
}


FILES = {"html": html, "arabic": arabic, "docx": docx, "xlsx": xlsx}


def prepare(name: str) -> None:
    """Make the files that an attack sends: packing one takes longer than the measurement."""
    for made in FILES.values() if name not in ATTACKS else [FILES[name]] if name in FILES else []:
        made()


async def everything(server: Server) -> None:
    """All of them at once."""
    async with asyncio.TaskGroup() as running:
        for attack in ATTACKS.values():
            running.create_task(_until_cancelled(attack, server))


async def _until_cancelled(attack: Attack, server: Server) -> None:
    """One that is refused outright (beside the others, the account may be over a limit) ends."""
    with contextlib.suppress(*FAILURES, json.JSONDecodeError):
        await attack(server)
