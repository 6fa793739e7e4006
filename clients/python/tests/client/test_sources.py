"""Where the bytes of a file come from, and what is reported while they travel."""

import io
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentpost_client import Attachment, FileRefused, RemoteFile
from agentpost_client.attachments import CHUNK_BYTES
from tests.client.scripted import Talk, answer, message
from tests.client.test_upload import POSTED, TICKET, parts, ready

DATA = b"x" * (CHUNK_BYTES + 10)


class Pipe(io.RawIOBase):
    """A file object that cannot be read twice."""

    def __init__(self) -> None:
        self._left = io.BytesIO(DATA)

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        return self._left.readinto(target)


def pieces() -> Iterator[bytes]:
    yield DATA[:7]
    yield DATA[7:]


async def later() -> AsyncIterator[bytes]:
    for piece in pieces():
        yield piece


def open_file(folder: Path) -> Any:
    """A file that stands behind what its reader has had."""
    (folder / "a.bin").write_bytes(b"head" + DATA)
    stream = (folder / "a.bin").open("rb")
    stream.read(4)
    return stream


@pytest.mark.parametrize(
    "source",
    [
        open_file,
        lambda folder: str(open_file(folder).name),
        lambda _: Attachment("a.bin", DATA),
        lambda _: Attachment("a.bin", io.BytesIO(DATA)),
        lambda _: Attachment("a.bin", pieces()),
        lambda _: Attachment("a.bin", list(pieces())),
        lambda _: Attachment("a.bin", Pipe()),
    ],
    ids=["file", "path", "bytes", "memory file", "iterator", "list", "pipe"],
)
async def test_a_try_that_broke_sends_all_of_it_again(
    source: Callable[[Path], Any], talk: Talk, tmp_path: Path
) -> None:
    file = source(tmp_path)
    wanted = DATA if not isinstance(file, str) else b"head" + DATA
    talk.script = [answer(TICKET, 201), httpx2.ReadError("reset"), httpx2.Response(503)]
    talk.script += [POSTED, answer(ready())]
    await talk("upload", file)
    create, *posts, _ = talk.asked
    assert create.content == f'{{"filename": "a.bin", "size": {len(wanted)}}}'.encode()
    assert [parts(post)[-1] for post in posts] == [("file", wanted)] * 3


async def test_an_asynchronous_iterator_is_for_the_client_of_asyncio(talk: Talk) -> None:
    file = Attachment("a.bin", later())
    if not talk.is_async:
        with pytest.raises(FileRefused, match="AsyncClient"):
            await talk("upload", file)
        return
    talk.script = [answer(TICKET, 201), POSTED, answer(ready())]
    await talk("upload", file)
    assert parts(talk.asked[1])[-1] == ("file", DATA)


async def test_an_iterator_goes_inside_a_message(talk: Talk) -> None:
    talk.script = [answer(message(), 201)]
    await talk("send", "Look", [Attachment("a.txt", iter([b"a", b"b"]))])
    assert talk.bodies[0]["files"] == [
        {"name": "a.txt", "base64": "YWI=", "content_type": "text/plain"}
    ]


async def test_remote_files_have_their_places_first(talk: Talk) -> None:
    """They cannot be uploaded instead, so a local file is."""
    local = [Attachment(f"{n}", b"x") for n in range(5)]
    talk.script = [answer(TICKET, 201), POSTED, answer(ready()), answer(message(), 201)]
    await talk("send", "Look", [*local, RemoteFile("https://example.com/a")])
    sent = talk.asked[-1].content
    assert b'{"url": "https://example.com/a"}' in sent
    assert b'"upload_ids": ["up_1"]' in sent
    with pytest.raises(FileRefused, match="6 remote files"):
        await talk("send", "Look", [RemoteFile("https://example.com/a")] * 6)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (io.StringIO("a"), "binary mode"),
        (io.BytesIO(b"a"), "no name"),
        (7, "is not a file"),
        (Attachment("a", ["text"]), "gives str"),  # type: ignore[list-item]
        (Attachment("a", []), "empty"),
        (Attachment("a", b""), "empty"),
        (Attachment("\udcff.csv", b"a"), r"'\\udcff.csv' is not Unicode text"),
    ],
    ids=["text", "nameless", "number", "strings", "nothing", "no bytes", "bytes in a name"],
)
async def test_what_is_no_file_is_refused(file: Any, text: str, talk: Talk) -> None:
    with pytest.raises(FileRefused, match=text):
        await talk("upload", file)
    assert talk.asked == []


async def test_a_closed_file_is_refused(talk: Talk, tmp_path: Path) -> None:
    stream = open_file(tmp_path)
    stream.close()
    with pytest.raises((FileRefused, ValueError), match="closed"):
        await talk("upload", stream)


async def test_progress_of_an_upload(talk: Talk) -> None:
    seen: list[tuple[int, int]] = []
    talk.script = [answer(TICKET, 201), POSTED, answer(ready())]
    await talk("upload", Attachment("a", DATA), lambda done, size: seen.append((done, size)))
    size = len(DATA)
    assert seen == [(0, size), (CHUNK_BYTES, size), (size, size)]


async def test_progress_of_a_download(talk: Talk, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    file = {"file_id": "wrk_1/a.bin", "name": "a.bin", "url": "https://files.test/a"}
    talk.script = [answer(file), httpx2.Response(200, content=DATA)]
    path = await talk(
        "download", "wrk_1/a.bin", tmp_path, lambda done, size: seen.append((done, size))
    )
    assert path.read_bytes() == DATA
    assert seen[-1] == (len(DATA), len(DATA))


async def test_a_file_in_memory(talk: Talk) -> None:
    file = {"file_id": "wrk_1/a.bin", "name": "a.bin", "url": "https://files.test/a"}
    talk.script = [answer(file), httpx2.Response(200, content=DATA)]
    assert await talk("files.read", "wrk_1/a.bin") == DATA
