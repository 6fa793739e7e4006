"""Static files: named by their content, small on the wire, and ours or listed with a licence."""

import gzip
import hashlib
import re
import tomllib
from pathlib import Path

import httpx2
import pytest

from agentpost.web import assets

WEB = assets.FOLDER.parent
LISTS = (assets.FOLDER / "vendored.toml", Path(__file__).parent / "browser/vendored.toml")
OURS = {"app.js", "chat.js", "style.css"}
FIRST_LOAD_BYTES_MAX = 60_000


def vendored(path: Path) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = tomllib.loads(path.read_text("utf-8"))["file"]
    return listed


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.parts[-3])
def test_what_others_wrote_is_listed_and_unchanged(path: Path) -> None:
    folder = WEB if path == LISTS[0] else path.parent
    for each in vendored(path):
        content = (folder / each["path"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == each["sha256"], each["path"]
        assert each.keys() >= {"package", "version", "licence", "source"}


def test_every_static_file_is_ours_or_listed() -> None:
    listed = {Path(each["path"]).name for each in vendored(LISTS[0])}
    assert assets.names() <= listed | OURS
    texts = (assets.FOLDER / "licences.txt").read_text("utf-8")
    for each in vendored(LISTS[0]):
        assert f"{each['package']} {each['version']}" in texts


def test_a_file_is_kept_for_good_by_its_address(stranger: httpx2.Client) -> None:
    page = stranger.get("/dashboard")
    (address,) = re.findall(r'href="(/static/.*?style.css)"', page.text)
    plain = stranger.get(address, headers={"Accept-Encoding": "identity"})
    zipped = stranger.get(address, headers={"Accept-Encoding": "gzip"})
    wrong = stranger.get(address.replace("/static/", "/static/0"))
    missing = stranger.get("/static/0/vendored.toml")
    assert plain.text == zipped.text == (assets.FOLDER / "style.css").read_text("utf-8")
    assert zipped.headers["content-encoding"] == "gzip"
    for answer in (plain, zipped):
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["vary"] == "Accept-Encoding"
        assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert (wrong.status_code, missing.status_code) == (404, 404)


def test_the_first_page_is_small_on_the_wire() -> None:
    files = [(assets.FOLDER / name).read_bytes() for name in assets.names()]
    assert sum(len(gzip.compress(content, 9)) for content in files) < FIRST_LOAD_BYTES_MAX / 2


@pytest.mark.parametrize("path", ["/chat", "/dashboard"])
def test_a_first_visit_is_small(browser: httpx2.Client, path: str) -> None:
    """All that a browser with an empty cache loads of us, compressed, with its headers."""
    page = browser.get(path).text
    found = re.findall(r'(?:src|href)="(/(?:static/|favicon)[^"]*)"', page)
    total = sum(_on_the_wire(browser, each) for each in {path, *found})
    assert len(found) > 3
    assert total <= FIRST_LOAD_BYTES_MAX, total


def _on_the_wire(browser: httpx2.Client, path: str) -> int:
    with browser.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as answer:
        headers = sum(len(name) + len(value) + 4 for name, value in answer.headers.raw)
        return headers + sum(len(piece) for piece in answer.iter_raw())
