"""Files and their signed links (spec: File, getFile; design: Links)."""

import time
from collections.abc import Callable

import httpx2
import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.waiting import PATIENCE, PROMPT, eventually


def write(caller: Caller, path: str, text: str, **fields: object) -> Json:
    """A file of a reply."""
    message = caller.send([["write", path, text], ["reply", "ok"]], **fields)
    file: Json = message["files"][0]
    return file


def fetch(url: str, method: str = "GET", **headers: str) -> httpx2.Response:
    """A download, as a browser does it: without a key."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.request(method, url, headers=named, timeout=PATIENCE)


def expect_refusal(url: str, status: int, code: str) -> None:
    answer = fetch(url)
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert answer.json()["request_id"] == answer.headers["Request-Id"]


@pytest.mark.rule(
    "What the service does 4",
    "File.name",
    "File.content_type",
    "File.size",
    "File.url",
    "File.revision",
    "getFile.path",
    "getFile.no-key",
)
def test_a_file_is_downloaded_by_its_link(caller: Caller) -> None:
    text = "0123456789" * 10
    file = write(caller, "digits.txt", text)
    again = caller.call("GET", f"/v1/files/{file['file_id']}").json()
    assert {**again, "url": ""} == {**file, "object": "file", "url": ""}
    assert (file["name"], file["size"], file["kind"]) == ("digits.txt", 100, "text")
    assert file["content_type"].startswith("text/plain")

    answer = fetch(file["url"])
    assert (answer.status_code, answer.text) == (200, text)
    assert answer.headers["ETag"] == file["revision"]
    assert file["revision"].startswith('"')
    assert answer.headers["Content-Length"] == "100"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert 'filename="digits.txt"' in answer.headers["Content-Disposition"]


@pytest.mark.rule("File.label")
def test_a_file_has_the_label_its_agent_gave(caller: Caller) -> None:
    job = [["write", "a.txt", "x", 0, "Draft"], ["write", "b.txt", "x"]]
    done = caller.final(caller.send([["start", "Labels", job]])["id"])
    assert [file["label"] for file in done["files"]] == ["Draft", None]
    shown = caller.call("GET", f"/v1/files/{done['files'][0]['file_id']}").json()
    assert shown["label"] == "Draft"


def test_ranges(caller: Caller) -> None:
    url = write(caller, "range.txt", "0123456789")["url"]
    for asked, given, where in [
        ("bytes=0-3", "0123", "bytes 0-3/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=8-99", "89", "bytes 8-9/10"),
    ]:
        answer = fetch(url, range=asked)
        assert (answer.status_code, answer.text) == (206, given)
        assert answer.headers["Content-Range"] == where
        assert answer.headers["Content-Length"] == str(len(given))
    for whole in ("bytes=0-1,3-4", "lines=1-2", "bytes=-", "bytes=a-b"):
        assert (fetch(url, range=whole).status_code, fetch(url, range=whole).text) == (
            200,
            "0123456789",
        )
    beyond = fetch(url, range="bytes=10-")
    assert beyond.status_code == 416
    assert beyond.headers["Content-Range"] == "bytes */10"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"if_none_match": "TAG"}, 304),
        ({"if_none_match": "W/TAG"}, 304),
        ({"if_none_match": '"other", W/"x",TAG'}, 304),
        ({"if_none_match": "*"}, 304),
        ({"if_none_match": "TAG", "range": "bytes=0-0"}, 304),
        ({"if_none_match": '"other"'}, 200),
        ({"if_none_match": "junk"}, 200),
        ({"if_match": "TAG"}, 200),
        ({"if_match": '"other" , TAG'}, 200),
        ({"if_match": "*"}, 200),
        ({"if_match": '"other"'}, 412),
        ({"if_match": "W/TAG"}, 412),
        ({"if_match": "junk"}, 412),
        ({"if_match": '"other"', "range": "bytes=0-0"}, 412),
        ({"if_match": '"other"', "if_none_match": "TAG"}, 412),
        ({"if_match": "TAG", "range": "bytes=0-0"}, 206),
        ({"if_range": "TAG", "range": "bytes=0-0"}, 206),
        ({"if_range": '"other"', "range": "bytes=0-0"}, 200),
        ({"if_range": "W/TAG", "range": "bytes=0-0"}, 200),
        ({"if_range": "Wed, 21 Oct 2026 07:28:00 GMT", "range": "bytes=0-0"}, 200),
        ({"range": "Bytes=0-0"}, 206),
        ({"range": f"bytes=0-{'9' * 30}"}, 206),
        ({"range": f"bytes={'9' * 30}-"}, 416),
        ({"range": "bytes=-0"}, 416),
        ({"range": f"bytes={'9' * 5_000}-"}, 200),
        ({"range": f"bytes={'0-,' * 2_000}0-"}, 200),
    ],
)
def test_conditions_are_held(caller: Caller, headers: dict[str, str], status: int) -> None:
    """RFC 9110, 13.1 and 14; what asks for ranges we do not give gets the whole file."""
    file = write(caller, "conditions.txt", "0123456789", conversation="conditions")
    given = {name: value.replace("TAG", file["revision"]) for name, value in headers.items()}
    answer = fetch(file["url"], **given)
    assert answer.status_code == status
    if status == 412:
        assert answer.json()["error"] == "file_changed"
    elif status == 304:
        assert (answer.content, answer.headers["ETag"]) == (b"", file["revision"])
    head = fetch(file["url"], "HEAD", **given)
    assert head.status_code == (status if status in (304, 412) else 200)  # ranges are for GET
    assert head.content == b""
    assert head.status_code != 200 or head.headers["Content-Length"] == "10"


def test_pages_of_any_origin_may_read_a_link(caller: Caller) -> None:
    """The link is the permission; a browser asks first when a page sends `If-Match` or a range."""
    url = write(caller, "shared.csv", "a,b")["url"]
    asked = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "if-match"}
    preflight = fetch(url, "OPTIONS", Origin="https://shop.example", **asked)
    assert (preflight.status_code, preflight.content) == (204, b"")
    assert preflight.headers["Access-Control-Allow-Methods"] == "GET, HEAD"
    assert preflight.headers["Access-Control-Allow-Headers"] == "if-match"
    for answer in (preflight, fetch(url), fetch(url, range="bytes=9-"), fetch(f"{url}x")):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer.headers
        exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
        assert {"ETag", "Content-Disposition", "Content-Length", "Content-Range"} <= {*exposed}
    assert fetch(url, "POST").headers["Allow"] == "GET, HEAD, OPTIONS"


def test_an_empty_file(caller: Caller) -> None:
    answer = fetch(write(caller, "empty.txt", "")["url"])
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_file_whose_bytes_are_gone_is_not_found(
    caller: Caller, server: AgentServer, method: str
) -> None:
    """As when its work is deleted at that moment: told before the answer begins, not by a break."""
    text = f"gone by {method}"
    file = write(caller, "gone.txt", text)
    blobs = [p for p in (server.home / "data" / "blobs").rglob("*") if p.is_file()]
    for blob in blobs:
        if blob.read_bytes() == text.encode():
            blob.unlink()
    for asked in ({}, {"range": "bytes=1-"}):
        answer = fetch(file["url"], method, **asked)
        assert answer.status_code == 404
        assert method == "HEAD" or answer.json()["error"] == "not_found"


@pytest.mark.rule("File.revision", "getFile.fresh")
def test_a_changed_file_answers_412_until_a_fresh_link_is_asked_for(caller: Caller) -> None:
    old = write(caller, "same.txt", "one", conversation="changes")
    new = write(caller, "same.txt", "other", conversation="changes")
    assert old["file_id"] == new["file_id"]
    assert old["revision"] != new["revision"]

    expect_refusal(old["url"], 412, "file_changed")
    fresh = caller.call("GET", f"/v1/files/{old['file_id']}").json()
    assert fetch(fresh["url"]).text == "other"


@pytest.mark.databases("sqlite", "postgres")
def test_a_final_message_keeps_its_files_when_a_later_one_writes_the_same_path(
    caller: Caller,
) -> None:
    """Nothing about it changes any more."""
    first = caller.send([["write", "same.txt", "1"], ["reply", "ok"]], conversation="same")
    second = caller.send([["write", "same.txt", "22"], ["reply", "ok"]], conversation="same")
    kept = caller.get(first["id"])
    assert [{**f, "url": ""} for f in kept["files"]] == [{**f, "url": ""} for f in first["files"]]
    assert kept["version"] == first["version"]
    assert [f["size"] for f in second["files"]] == [2]
    current = caller.call("GET", f"/v1/files/{first['files'][0]['file_id']}").json()
    assert current["revision"] == second["files"][0]["revision"]
    expect_refusal(kept["files"][0]["url"], 412, "file_changed")


@pytest.mark.databases("sqlite", "postgres")
def test_a_path_written_twice_is_listed_once(caller: Caller) -> None:
    message = caller.send([["write", "a.txt", "1"], ["write", "a.txt", "22"], ["reply", "ok"]])
    assert [f["size"] for f in message["files"]] == [2]


def test_a_link_that_was_tampered_with_is_refused(caller: Caller) -> None:
    file, other = write(caller, "mine.txt", "x"), write(caller, "other.txt", "y")
    url = httpx2.URL(file["url"])
    sig, exp = url.params["sig"], url.params["exp"]
    for changed in (
        url.copy_set_param("sig", sig[:-1] + ("A" if sig[-1] != "A" else "B")),
        url.copy_set_param("exp", str(int(exp) + 1)),
        url.copy_set_param("rev", "0" * 32),
        url.copy_remove_param("sig"),
        url.copy_remove_param("exp"),
        url.copy_set_param("exp", "١٢٣"),
        url.copy_set_param("sig", "é\x00"),
        url.copy_with(raw_path=url.raw_path.replace(b"mine.txt", b"other.txt")),
        url.copy_with(raw_path=url.raw_path.replace(b"/mine.txt", b"/../mine.txt")),
        url.copy_with(raw_path=url.raw_path.replace(b"/mine.txt", b"/%2e%2e/mine.txt")),
    ):
        answer = fetch(str(changed))
        assert answer.status_code in (403, 404), changed
    expect_refusal(str(url.copy_set_param("sig", "x")), 403, "link_invalid")
    assert fetch(other["url"]).text == "y"


@pytest.mark.rule("File.url")
def test_a_link_expires(start_server: ServerMaker, callers: Callable[..., Caller]) -> None:
    file = write(callers(start_server(link_seconds=1)), "short.txt", "x")
    began = time.monotonic()
    eventually(lambda: fetch(file["url"]).status_code == 403, PROMPT)
    assert time.monotonic() - began < PROMPT
    expect_refusal(file["url"], 403, "link_invalid")
