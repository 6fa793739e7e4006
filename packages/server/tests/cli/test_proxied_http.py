"""The HTTP clients of `verify`, `mcp` and `listen` take the ways that the client takes."""

import os

import httpx2
import pytest

from agentpost.cli.proxied_http import open_http
from agentpost_client import ConfigError
from tests.client.scripted import Wire, http

ELSEWHERE = "http://agents.example.invalid"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def test_a_proxy_is_used_but_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire()
    monkeypatch.setenv("HTTP_PROXY", wire.url)
    wire.script = [http(b"by the proxy"), http(b"here")]
    with open_http(httpx2.Client, ELSEWHERE) as client:
        assert [client.get(url).text for url in (ELSEWHERE, wire.url)] == ["by the proxy", "here"]
    assert [head.split()[1] for head in wire.asked] == [f"{ELSEWHERE}/", "/"]
    wire.close()


def test_a_proxy_that_cannot_be_used_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks4://user:hidden@127.0.0.1:1")
    with pytest.raises(ConfigError, match="is not the address of a proxy") as caught:
        open_http(httpx2.AsyncClient, ELSEWHERE)
    assert "hidden" not in str(caught.value)
    wire = Wire()
    wire.script = [http(b"here")]
    with open_http(httpx2.Client, wire.url) as client:
        assert client.get(wire.url).text == "here"
        with pytest.raises(httpx2.UnsupportedProtocol, match="ALL_PROXY"):
            client.get(ELSEWHERE)
    wire.close()
