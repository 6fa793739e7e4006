"""The exit codes of the caller's commands, row by row of the table in docs/cli.md; and proxies."""

import os
import re
import sys
from pathlib import Path

import httpx2
import pytest

from agentpost.cli import exits
from agentpost.cli.proxied_http import open_http
from agentpost_client import ConfigError, RetryPolicy
from tests.cli.scripted import Server, message, run, server
from tests.client.scripted import Wire, http

__all__ = ["server"]

DOCS = Path(__file__).parents[4] / "docs" / "cli.md"


def test_the_table_of_the_docs_has_every_code() -> None:
    text = DOCS.read_text()
    table = text[text.index("| Exit code | `send` and `follow`") :]
    table = table[: table.index("\n\n")]
    assert {int(code) for code in re.findall(r"^\| (\d+) ", table, re.MULTILINE)} == {
        *exits.OF_STATUS.values(),
        exits.USAGE,
        exits.NO_ANSWER,
        exits.INTERRUPTED,
    }


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryPolicy, "backoff", lambda *_: 0.0)


def test_2_and_7_what_the_server_refuses(server: Server) -> None:
    cases = [
        (400, "invalid_request", 2),
        (404, "not_found", 2),
        (409, "idempotency_conflict", 2),
        (409, "upload_not_ready", 2),
        (413, "too_large", 2),
        (422, "executable_refused", 2),
        (401, "unauthorized", 7),
        (403, "forbidden", 7),
        (409, "not_final", 7),
        (429, "rate_limited", 7),
        (503, "unavailable", 7),
    ]
    for status, error, _ in cases:
        body = {"error": error, "message": "No."}
        server.on(f"GET /v1/messages/{error}", body, status=status)
    server.on("GET /v1/messages/proxy", b"<html>", status=404)  # not of the API
    found = [(*case[:2], run("messages", "show", case[1]).exit_code) for case in cases]
    assert found == cases
    assert run("messages", "show", "proxy").exit_code == 7


def test_1_what_could_not_be_done(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    server.on("POST /v1/messages", message(files=[]))
    monkeypatch.setattr("agentpost.files.commands.save_all", full)
    assert run("send", "Hi", "--save", "out").exit_code == 1
    assert run("logout").exit_code == 1


NO_SOCKS = ("socks5://user:hidden@127.0.0.1:1", "ALL_PROXY is a SOCKS proxy, for which a package")
NO_PROXY = ("ftp://user:hidden@127.0.0.1:1", "ALL_PROXY is not the address of a proxy")


@pytest.mark.parametrize(
    ("call", "code", "proxy"),
    [
        (("work", "list"), exits.NO_ANSWER, NO_SOCKS),
        (("work", "list"), exits.NO_ANSWER, NO_PROXY),
        (("listen",), exits.NO_ANSWER, NO_SOCKS),
        (("requests", "show", "req_1"), exits.NO_ANSWER, NO_PROXY),
        (("mcp",), exits.NO_ANSWER, NO_SOCKS),
        (("login", "http://example.invalid", "--key-stdin"), exits.NO_ANSWER, NO_PROXY),
        (("verify",), exits.USAGE, NO_SOCKS),
    ],
)
def test_a_proxy_that_cannot_be_used_ends_each_command(
    call: tuple[str, ...], code: int, proxy: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("AGENTPOST_URL", "http://agents.example.invalid")
    monkeypatch.setenv("AGENTPOST_KEY", "k")
    monkeypatch.setenv("ALL_PROXY", proxy[0])
    result = run(*call, stdin="k")
    assert result.stderr.startswith(f"agentpost: {proxy[1]}"), result.output
    assert len(result.stderr.splitlines()) == 1
    assert result.exit_code == code
    assert "hidden" not in result.output


def test_a_proxy_is_of_no_use_for_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    server.on("GET /v1/work", {"object": "list", "data": []})
    assert run("work", "list", "--json").exit_code == 0


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
