"""The proxies of the environment: used, passed by, and named when they cannot be used."""

import asyncio
import os
import sys
from collections.abc import Iterator
from threading import Thread
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from agentpost_client import Account, AsyncClient, Client, ConfigError, ConnectionFailed
from agentpost_client.addresses import read_address
from agentpost_client.proxies import Routes
from tests.client.scripted import KEY, Wire, http, served
from tests.servers import free_port

FILE = {"file_id": "wrk_1/a", "name": "a", "url": "https://files.example.com/a?sig=1"}
ELSEWHERE = "http://agents.example.invalid"


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    """A server, and an HTTP proxy whose every address is this server."""
    host = Request(scope).headers["host"]
    await JSONResponse({**FILE, "user_id": host})(scope, receive, send)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(answers) as address:
        yield address


@pytest.fixture(scope="module")
def socks(url: str) -> Iterator[str]:
    """A SOCKS proxy (RFC 1928) whose every address is that server."""
    loop = asyncio.new_event_loop()
    target = urlsplit(url)

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(4096):
            sink.write(data)
        sink.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)
        writer.write(b"\x05\x00")
        _, _, _, kind, length = await reader.readexactly(5)
        assert kind == 3, "the proxy looks the name up"
        await reader.readexactly(length + 2)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        there, back = await asyncio.open_connection(target.hostname, target.port)
        await asyncio.gather(pump(reader, back), pump(there, writer))

    server = loop.run_until_complete(asyncio.start_server(relay, "127.0.0.1", 0))
    thread = Thread(target=loop.run_forever)
    thread.start()
    yield f"socks5h://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(cancel_all(loop))
    loop.close()


async def cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def answer_of(address: str) -> str:
    """Which host the server of that address was asked as, by either client."""
    with Client(address, KEY, max_retries=0) as client:
        host = client.me().user_id
    asked = AsyncClient(address, KEY, max_retries=0).me()
    assert asyncio.run(asked).user_id == host
    return host


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("kind", ["url", "socks"])
def test_a_proxy_is_used(
    name: str, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, request.getfixturevalue(kind))
    assert answer_of(ELSEWHERE) == "agents.example.invalid"


def test_this_machine_is_reached_without(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{free_port()}")
    for host in ("127.0.0.1", "localhost"):
        place = f"{host}:{urlsplit(url).port}"
        assert answer_of(f"http://{place}") == place


@pytest.mark.parametrize(
    ("name", "address", "text"),
    [
        ("ALL_PROXY", "socks5://user:hidden@127.0.0.1:1", r"'agentpost-client\[socks\]'"),
        ("HTTP_PROXY", "socks5h://127.0.0.1:1", r"'agentpost-client\[socks\]'"),
        ("ALL_PROXY", "socks4://user:hidden@127.0.0.1:1", "is not the address of a proxy"),
        ("http_proxy", "http://user:hidden@proxy:port", "is not the address of a proxy"),
        ("HTTP_PROXY", "http://proxy:99999", "is not the address of a proxy"),
        ("HTTP_PROXY", "http://", "is not the address of a proxy"),
        ("HTTP_PROXY", "http://[", "is not the address of a proxy"),
        ("HTTP_PROXY", "http://proxy\n", "is not the address of a proxy"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named(
    name: str, address: str, text: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv(name, address)
    for kind in (Client, AsyncClient):
        with pytest.raises(ConfigError, match=text) as caught:
            kind(ELSEWHERE, KEY)
        assert name.upper() in str(caught.value)
        assert "hidden" not in str(caught.value)
    # Who does not need it is not troubled by it, and goes nowhere without it.
    assert answer_of(url) == urlsplit(url).netloc
    with Client(url, KEY) as client, pytest.raises(ConnectionFailed, match=text):
        client.files.read("wrk_1/a")
    monkeypatch.setenv("NO_PROXY", "example.invalid")
    with (
        Client(ELSEWHERE, KEY, max_retries=0) as client,
        pytest.raises(ConnectionFailed, match="connect"),
    ):
        client.me()
    monkeypatch.setenv("NO_PROXY", "*")
    Client(ELSEWHERE, KEY).close()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_proxy_is_told_name_and_password_and_nobody_else(
    kind: type[Client] | type[AsyncClient], wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = wire.url.replace("//", "//us%40er:hid%3Aden@")
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy)
    wire.script = [http(b'{"user_id": "usr_1"}'), http(b"", "407 Proxy Authentication Required")]

    def me(url: str) -> None:
        result = kind(url, KEY, max_retries=0).me()
        if not isinstance(result, Account):
            asyncio.run(result)

    me(f"{ELSEWHERE}:81")
    with pytest.raises(ConnectionFailed, match=r"broke \(407 Proxy") as caught:
        me(ELSEWHERE.replace("http:", "https:"))
    plain, tunnel = wire.asked
    assert plain.startswith("GET http://agents.example.invalid:81/v1/me HTTP/1.1\r\nHost: agents.")
    assert tunnel.startswith("CONNECT agents.example.invalid:443 HTTP/1.1\r\n")
    for each in wire.asked:
        assert "\r\nProxy-Authorization: Basic dXNAZXI6aGlkOmRlbg==\r\n" in each
    assert KEY not in tunnel
    assert "hid" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "passed_by", "others"),
    [
        ("example.com", "http://example.com http://a.example.com", "http://aexample.com"),
        (".example.com", "https://a.example.com:8443", "http://example.com"),
        ("*.Example.com", "http://A.example.com", "http://example.com"),
        ("https://example.com", "https://example.com", "http://example.com"),
        ("example.com:8080", "http://example.com:8080", "http://example.com"),
        ("example.com:443", "https://example.com", "http://example.com"),
        ("10.1.2.3", "http://10.1.2.3:9", "http://10.1.2.30"),
        ("10.0.0.0/8", "http://10.255.0.1", "http://11.0.0.1 http://10.example.com"),
        ("fd00::/8", "http://[fd12::1]:9", "http://[fe80::1]"),
        ("[fd00::1]:9", "http://[fd00::1]:9", "http://[fd00::1]"),
        ("a.example, *", "http://example.com", ""),
        ("", "http://127.9.9.9 http://[::1] http://LOCALHOST:8080", "http://a.localhost.example"),
        ("nonsense/33, http://[, :, %", "", "http://example.com"),
    ],
)
def test_hosts_that_are_reached_without(
    entry: str, passed_by: str, others: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", f" x.example, {entry}")
    routes = Routes(ELSEWHERE)
    for url in passed_by.split():
        assert routes.proxy(read_address(url)) is None, url
    for url in others.split():
        assert routes.proxy(read_address(url)) is not None, url
