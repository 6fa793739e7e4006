"""`download`: whole files or none, fresh links, and no key for the file's host."""

import socket
import threading
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from agentpost_client import ApiError, BadAnswer, Client, ConnectionFailed, File, RetryPolicy
from agentpost_client.partial import local_name
from tests.client.scripted import KEY, Talk, answer, refusal, served

FRESH = {"file_id": "wrk_1/a.png", "name": "a.png", "url": "https://files.test/fresh?sig=new"}
OLD = File.read({**FRESH, "url": "https://files.test/old?sig=old"})
BYTES = httpx2.Response(200, content=b"pixels")


@pytest.mark.parametrize(("place", "saved"), [("", "a.png"), ("new/b.png", "new/b.png")])
async def test_a_file_is_saved_under_its_name_in_a_folder_or_as_the_path_given(
    talk: Talk, tmp_path: Path, place: str, saved: str
) -> None:
    target = tmp_path / saved
    talk.script = [BYTES]
    assert await talk("download", OLD, tmp_path / place) == target
    assert {path: path.read_bytes() for path in target.parent.iterdir()} == {target: b"pixels"}
    assert "Authorization" not in talk.asked[0].headers


async def test_an_id_is_looked_up_first(talk: Talk, tmp_path: Path) -> None:
    talk.script = [answer(FRESH), BYTES]
    await talk("download", "wrk_1/a.png", tmp_path)
    assert [str(request.url) for request in talk.asked] == [
        "http://server.test/v1/files/wrk_1/a.png",
        "https://files.test/fresh?sig=new",
    ]


@pytest.mark.parametrize("status", [403, 412])
async def test_a_stale_link_is_renewed_once(talk: Talk, tmp_path: Path, status: int) -> None:
    talk.script = [refusal(status, "stale"), answer(FRESH), BYTES]
    assert (await talk("download", OLD, tmp_path)).read_bytes() == b"pixels"
    talk.script = [refusal(status, "stale"), answer(FRESH), refusal(status, "stale")]
    with pytest.raises(ApiError) as caught:
        await talk("download", OLD, tmp_path / "other")
    assert caught.value.status == status
    assert not (tmp_path / "other").exists()


async def test_other_refusals_are_not_answered_with_a_new_link(talk: Talk, tmp_path: Path) -> None:
    talk.script = [refusal(404, "not_found")]
    with pytest.raises(ApiError):
        await talk("download", OLD, tmp_path)


async def test_passing_trouble_is_tried_again(talk: Talk, tmp_path: Path) -> None:
    talk.script = [httpx2.ReadError("reset"), refusal(503, "unavailable"), BYTES]
    assert (await talk("download", OLD, tmp_path)).read_bytes() == b"pixels"


async def test_a_failed_download_tells_no_signature(talk: Talk, tmp_path: Path) -> None:
    talk.policy = RetryPolicy(retries=0)
    talk.script = [httpx2.ConnectError("refused")]
    with pytest.raises(ConnectionFailed, match=r"https://files\.test:") as caught:
        await talk("download", OLD, tmp_path)
    assert "sig" not in str(caught.value)


async def test_a_link_that_is_no_address_is_a_failure(talk: Talk, tmp_path: Path) -> None:
    for url in ("ftp://files.test/a", "/relative", "http://", "http://h:port"):
        with pytest.raises(BadAnswer, match="not an http address"):
            await talk("download", replace(OLD, url=url), tmp_path)


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\evil.txt", "evil.txt"),
        ("a\x1b[31m\n.png", "a[31m.png"),
        ("..", "file"),
        (".env", "env"),
        (" . .env ", "env"),
        ("\u30c7\u3000\u30bf.csv", "\u30c7\u3000\u30bf.csv"),
        ("\U0001f468\u200d\U0001f469.png", "\U0001f468\u200d\U0001f469.png"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("", "file"),
    ],
)
def test_a_name_never_leads_out_of_the_folder(name: str, local: str) -> None:
    assert local_name(name) == local


def test_redirects_are_followed_without_the_key(tmp_path: Path) -> None:
    seen: list[str | None] = []

    async def link(request: Request) -> Response:
        seen.append(request.headers.get("Authorization"))
        return RedirectResponse("/bytes", 302)

    async def content(request: Request) -> Response:
        seen.append(request.headers.get("Authorization"))
        return Response(b"x" * 1_000_000)

    app = Starlette(routes=[Route("/link", link), Route("/bytes", content)])
    with served(app) as url, Client(url, KEY) as client:
        file = replace(OLD, url=f"{url}/link")
        assert client.download(file, tmp_path).stat().st_size == 1_000_000
    assert seen == [None, None]


def test_a_body_cut_short_leaves_nothing_and_what_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"before")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def cut() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly some")

        thread = threading.Thread(target=cut)
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        file = replace(OLD, url=f"{address}/a")
        with (
            Client(address, KEY, policy=RetryPolicy(retries=0)) as client,
            pytest.raises(ConnectionFailed, match="broke"),
        ):
            client.download(file, tmp_path)
        thread.join()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.png": b"before"}
