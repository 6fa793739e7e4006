"""What everybody may read: rendered once, and not sent to those who have it."""

import re

import httpx2
import pytest
from starlette.requests import Request

from agentpost.http.published import PublishedDocument
from tests.e2e.server import AgentServer

PATHS = ("/openapi.json", "/docs", "/docs/errors", "/favicon.ico")


@pytest.mark.parametrize("path", PATHS)
def test_it_is_not_sent_to_those_who_have_it(server: AgentServer, path: str) -> None:
    first = httpx2.get(f"{server.url}{path}")
    assert first.status_code == 200
    assert re.fullmatch('"[0-9a-f]{32}"', first.headers["ETag"])
    assert "max-age=" in first.headers["Cache-Control"]
    for tag in (first.headers["ETag"], f'"x", W/{first.headers["ETag"]}', "*"):
        again = httpx2.get(f"{server.url}{path}", headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]
    other = httpx2.get(f"{server.url}{path}", headers={"If-None-Match": '"x"'})
    assert other.content == first.content
    assert httpx2.head(f"{server.url}{path}").status_code == 200


def test_the_page_of_the_api_is_of_this_server(server: AgentServer) -> None:
    answer = httpx2.get(f"{server.url}/docs")
    assert "script-src" not in answer.headers["Content-Security-Policy"]
    assert f"export AGENTPOST_URL={server.url} " in answer.text
    assert f'href="{server.url}/docs/errors#not_found"' in answer.text


async def test_it_is_made_once() -> None:
    made: list[bytes] = []

    def make() -> bytes:
        made.append(b"document")
        return made[-1]

    published = PublishedDocument(make, "text/plain")
    assert not made, "not before somebody asks"
    for _ in range(3):
        request = Request({"type": "http", "method": "GET", "headers": []})
        assert (await published(request)).body == b"document"
    assert len(made) == 1
