"""The client's own HTTP: what goes out, what comes back, and what its failures are called."""

import asyncio
import gzip
import inspect
import sys
import tarfile
import threading
import zlib
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import anyio
import httpcore2
import httpx
import httpx2
import pytest

from agentpost_client import (
    AsyncClient,
    Attachment,
    BadAnswer,
    Client,
    ConfigError,
    ConnectionFailed,
    File,
    RequestTimeout,
    RetryPolicy,
)
from agentpost_client._sync.connections import Connections
from agentpost_client._sync.http import CONNECTIONS_MAX
from agentpost_client.addresses import basic_auth, read_address, redirect_target
from agentpost_client.decoding import Decoding
from agentpost_client.sse import Lines
from agentpost_client.version import __version__
from agentpost_client.wire import Fault, NoAnswer, read_fault, timeout
from tests import programs
from tests.client.scripted import KEY, Wire, http
from tests.client.test_upload import TICKET, ready

ME = b'{"user_id": "usr_1", "object": "account"}'
LINK = File.read({"file_id": "wrk_1/a.png", "name": "a.png", "url": "http://files.test/a"})


Call = Callable[..., Any]


@pytest.fixture(params=[Client, AsyncClient])
def call(request: pytest.FixtureRequest) -> Call:
    """Calls a method of a fresh client of either kind."""

    def ask(url: str, method: str, *args: Any, **options: Any) -> Any:
        client = request.param(url, KEY, **{"max_retries": 0, **options})
        result = attrgetter(method)(client)(*args)
        return asyncio.run(result) if asyncio.iscoroutine(result) else result

    return ask


def test_what_goes_out(call: Call, wire: Wire) -> None:
    wire.script = [http(ME), http(b'{"work_id": "wrk_1"}')]
    assert call(f"{wire.url}/prefix", "me").user_id == "usr_1"
    call(wire.url, "work.stop", "wrk_1")
    assert wire.asked[0].split("\r\n")[:-1] == [
        "GET /prefix/v1/me HTTP/1.1",
        f"Host: {wire.url.removeprefix('http://')}",
        "Accept: */*",
        "Accept-Encoding: gzip, deflate",
        "Connection: keep-alive",
        f"Authorization: Bearer {KEY}",
        f"User-Agent: agentpost-python/{__version__}",
    ]
    assert wire.asked[1].startswith("POST /v1/work/wrk_1/stop HTTP/1.1\r\n")
    assert "\r\nContent-Length: 0\r\n" in wire.asked[1]


def test_a_query_is_quoted(call: Call, wire: Wire) -> None:
    wire.script = [http(b'{"data": [], "has_more": false, "cursor": "c"}')]
    call(wire.url, "requests.list", "a b&c=\u00e4")
    assert "cursor=a+b%26c%3D%C3%A4" in wire.asked[0]


def test_an_upload_says_its_length(call: Call, wire: Wire) -> None:
    ticket = str({**TICKET, "url": f"{wire.url}/bucket?x=1"}).replace("'", '"').encode()
    done = str(ready()).replace("'", '"').encode()
    wire.script = [http(ticket), http(b"", "204 No Content"), http(done)]
    assert call(wire.url, "upload", Attachment("a.csv", b"x" * 10**6)).upload_id == "up_1"
    head = wire.asked[1].lower()
    assert head.startswith("post /bucket?x=1 ")
    assert "content-length: 100" in head
    assert not {"transfer-encoding", "authorization"} & {
        line.split(":")[0] for line in head.split()
    }


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("GZip", gzip.compress(ME)),
        ("gzip, deflate", zlib.compress(gzip.compress(ME))),
        ("of-tomorrow", ME),
    ],
    ids=["upper case", "both", "unknown"],
)
def test_compressed_answers_are_read(call: Call, wire: Wire, coding: str, body: bytes) -> None:
    wire.script = [http(body, Content_ENCODING=coding)]
    assert call(wire.url, "me").user_id == "usr_1"


def test_a_damaged_answer_is_not_asked_for_again(call: Call, wire: Wire) -> None:
    wire.script = [http(b"nothing", Content_Encoding="gzip")]
    with pytest.raises(ConnectionFailed, match="decompressing"):
        call(wire.url, "me", max_retries=3)


def test_a_compressed_file_is_saved_as_it_was(call: Call, wire: Wire, tmp_path: Path) -> None:
    """An object store may keep one that way; what it becomes is larger than a chunk."""
    wire.script = [http(gzip.compress(b"x" * 3_000_000), Content_Encoding="gzip")]
    saved = call(wire.url, "download", replace(LINK, url=f"{wire.url}/a"), tmp_path)
    assert saved.read_bytes() == b"x" * 3_000_000
    assert "Accept-Encoding: identity" in wire.asked[0]


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("/again", "redirects more than 20 times"),
        ("http://[", "redirects to no address"),
        ("ftp://files.test/a", "unsupported protocol"),
    ],
)
def test_redirects_that_lead_nowhere(
    call: Call, wire: Wire, tmp_path: Path, location: str, text: str
) -> None:
    wire.script = [http(b"", "302 Found", Location=location) for _ in range(21)]
    with pytest.raises(ConnectionFailed, match=text):
        call(wire.url, "download", replace(LINK, url=f"{wire.url}/a"), tmp_path)


def test_calls_of_the_api_are_not_redirected(call: Call, wire: Wire) -> None:
    wire.script = [http(b"", "307 Temporary Redirect", Location="/elsewhere")]
    with pytest.raises(BadAnswer, match="redirect"):
        call(wire.url, "me")


def test_a_silence_is_named(call: Call, wire: Wire) -> None:
    wire.script = [None]
    with pytest.raises(RequestTimeout, match=r"it was silent for 0\.2 seconds") as caught:
        call(wire.url, "me", timeout=0.2)
    assert isinstance(caught.value, TimeoutError)
    assert isinstance(caught.value, ConnectionFailed)


@pytest.mark.parametrize("library", [httpcore2, httpx2, httpx])
@pytest.mark.parametrize(
    ("name", "text", "passing", "is_timeout"),
    [
        ("ConnectTimeout", "it did not accept a connection within 5 seconds", True, True),
        ("PoolTimeout", "no connection of this client became free within 60 seconds", True, True),
        ("WriteTimeout", "it took no data for 60 seconds", True, True),
        ("ReadTimeout", "it was silent for 60 seconds", True, True),
        ("ConnectError", "cannot connect (why)", True, False),
        ("ReadError", "the connection broke (why)", True, False),
        ("WriteError", "the connection broke (why)", True, False),
        ("RemoteProtocolError", "the connection broke (why)", True, False),
        ("ProxyError", "the connection broke (why)", True, False),
        ("LocalProtocolError", "why", False, False),
        ("UnsupportedProtocol", "why", False, False),
    ],
)
def test_failures_of_every_http_client(
    library: Any, name: str, text: str, passing: bool, is_timeout: bool
) -> None:
    fault = read_fault(getattr(library, name)("why"), timeout(60))
    assert fault is not None
    assert (fault.problem, fault.passing, fault.is_timeout) == (text, passing, is_timeout)


def test_other_errors_are_no_failures_of_http() -> None:
    for error in (tarfile.ReadError("why"), TimeoutError(), httpx2.InvalidURL("why")):
        assert read_fault(error, timeout(60)) is None
    decoding = read_fault(httpx2.DecodingError("why"), timeout(60))
    assert decoding == Fault("why", passing=False)


def test_no_connection_becomes_free(wire: Wire) -> None:
    wire.script = [None] * CONNECTIONS_MAX
    connections = Connections(wire.url, None)
    options = {"method": "GET", "url": wire.url, "headers": {}, "follow_redirects": False}

    def hang() -> None:
        with pytest.raises(NoAnswer, match="broke"):
            connections.request(timeout=timeout(60), **options)

    threads = [threading.Thread(target=hang) for _ in range(CONNECTIONS_MAX)]
    for each in threads:
        each.start()
    while len(wire.asked) < CONNECTIONS_MAX:
        threads[0].join(0.01)
    with pytest.raises(NoAnswer, match=r"no connection of this client became free within 0\.1"):
        connections.request(timeout=timeout(0.1), **options)
    wire.hang_up()
    for each in threads:
        each.join()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_a_connection_that_broke_is_made_again(call: Call, wire: Wire, answer: bytes) -> None:
    wire.script = [answer, http(ME)]
    policy = RetryPolicy(jitter=lambda: 0.0)
    assert call(wire.url, "me", max_retries=1, policy=policy).user_id == "usr_1"
    wire.script = [answer]
    with pytest.raises(ConnectionFailed, match="the connection broke"):
        call(wire.url, "me")


def test_a_server_without_tls_is_named(call: Call, wire: Wire) -> None:
    wire.script = [http(ME)]
    with pytest.raises(ConnectionFailed, match=r"cannot connect \(.*SSL"):
        call(wire.url.replace("http:", "https:"), "me")


async def test_a_call_that_is_cancelled_leaves_its_connection(wire: Wire) -> None:
    wire.script = [None, http(ME)]
    async with AsyncClient(wire.url, KEY, max_retries=0) as client:
        with anyio.move_on_after(0.1) as scope:
            await client.me()
        assert scope.cancelled_caught
        assert (await client.me()).user_id == "usr_1"


@pytest.mark.parametrize(
    ("url", "host", "place", "target"),
    [
        ("http://B\u00fccher.eu/\u00e4?\u00e4 b", "xn--bcher-kva.eu", "", "/%C3%A4?%C3%A4%20b"),
        ("https://stra\u00dfe.example:443", "xn--strae-oqa.example", "", "/"),
        ("http://[::1]:80/a%20b", "::1", "[::1]", "/a%20b"),
        ("http://my_host:8080/?X-Sig=a%2Fb+c", "my_host", "my_host:8080", "/?X-Sig=a%2Fb+c"),
    ],
)  # fmt: skip
def test_an_address_as_it_is_sent(url: str, host: str, place: str, target: str) -> None:
    address = read_address(url)
    assert (address.host, address.place, address.target) == (host, place or host, target)


@pytest.mark.parametrize(
    "url",
    [
        *("http://", "http:///a", "//host", "http:host", "http://[::1", "http://300.1.1.1"),
        *("http://a b", "http://a%20b", "http://h:0", "http://h:65536", "http://h:x"),
        *("http://\u2603.example", "http://a\u00ad.example", "ftp://host", "http://[::g]"),
        *("http://h\ta", "http://agentpost..example.com", "http://.example"),
        f"http://{'a' * 64}.example.com",
    ],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="address"):
        Client(url, KEY)


def test_lines_end_as_they_like() -> None:
    lines = Lines()
    sent = [b"a\r", b"\nb\n\rc", b"\xc3", b"\xa4\r\n\r", b"\n\xe2\x80\xa8d\xff\n", b"e"]
    assert [line for data in sent for line in lines.feed(data)] == (
        ["a", "b", "", "c\u00e4", "", "\u2028d\ufffd"]
    )
    assert Lines().feed("\ufeffid: 1\n".encode()) == ["id: 1"], "a mark of byte order is none of it"


def test_authorities_of_the_environment_are_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that is not there is told when the client is made."""
    monkeypatch.setattr(
        httpcore2, "default_ssl_context", inspect.unwrap(httpcore2.default_ssl_context)
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    for kind in (Client, AsyncClient):
        with pytest.raises(FileNotFoundError):
            kind("http://server.test", KEY)


WITHOUT = """
import sys
sys.modules["httpx2"] = None
from agentpost_client import Client
print(Client(sys.argv[1], "key", max_retries=0).me().user_id, "idna" in sys.modules)
"""


def test_httpx2_is_not_needed(wire: Wire) -> None:
    wire.script = [http(ME)]
    assert programs.printed(sys.executable, "-c", WITHOUT, wire.url) == "usr_1 False\n"


@pytest.mark.parametrize("target", ["http://a..b/", "file:///etc/x"])
def test_a_redirect_to_no_address_is_final(target: str) -> None:
    with pytest.raises(httpcore2.ProtocolError) as raised:
        redirect_target("http://files.test/a", target)
    fault = read_fault(raised.value, timeout(60))
    assert fault is not None
    assert not fault.passing


def test_the_name_and_password_of_a_link_go_to_its_host() -> None:
    expected = {"Authorization": "Basic dXM6cMO8"}
    assert basic_auth(read_address("http://us:p%C3%BC@files.test/a")) == expected
    assert basic_auth(read_address("http://files.test/a")) == {}


RAW = zlib.compressobj(wbits=-15)
BODIES = {
    "gzip": gzip.compress(b"text" * 99),
    "deflate": zlib.compress(b"text" * 99),
    "deflate without its head": RAW.compress(b"text" * 99) + RAW.flush(),
    "gzip in two": gzip.compress(b"text" * 50) + gzip.compress(b"text" * 49),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_compressed_body_may_be_cut_anywhere(name: str) -> None:
    body, coding = BODIES[name], name.partition(" ")[0]
    for cut in range(len(body)):
        decoding = Decoding(coding)
        pieces = [*decoding.decode(body[:cut]), *decoding.decode(body[cut:])]
        decoding.close()
        assert b"".join(pieces) == b"text" * 99, cut


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_compressed_body_that_ends_too_early_is_seen(name: str) -> None:
    decoding = Decoding(name)
    list(decoding.decode(BODIES[name][:-3]))
    with pytest.raises(httpcore2.RemoteProtocolError):
        decoding.close()
