"""Where the guarded way out leads, and where not (design: The way out)."""

import asyncio
from pathlib import Path

import pytest

from agentpost.egress.addresses import AllowList
from agentpost.egress.client import Egress, PostResult
from agentpost.egress.errors import EgressRefused, FetchFailed
from agentpost.egress.names import Lookup
from agentpost.egress.urls import BadUrl
from tests.egress.calls import NOT_FOUND_OR_PRIVATE, Names, fetch, leaks, no_such_name, post
from tests.egress.certificates import make_authority
from tests.egress.conftest import MakeEgress, Serve
from tests.egress.hostile import replies

# Which URLs


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com:8443/hook?x=1",
        "https://[2606:4700::1111]/",
        "https://127.0.0.1.nip.io/",
    ],
)
async def test_public_url(egress: MakeEgress, url: str) -> None:
    egress().check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/", "https://example.com:8080/", "https://user:secret@example.com/"),
        *("https://localhost/", "https://169.254.169.254/latest/meta-data/"),
        *("https://[::ffff:127.0.0.1]/", "https://2130706433/"),
        "https://metadata.google.internal/",
        "https://example.com/" + "a" * 2_000,
    ],
)
async def test_url_refused_everywhere(egress: MakeEgress, url: str, tmp_path: Path) -> None:
    """At registration, at each delivery, and (but for the port) when a file is fetched. Which
    addresses are private: `test_addresses.py`."""
    client = egress(lookup=Names(["127.0.0.1"]))
    with pytest.raises(BadUrl) as refused:
        client.check_url(url)
    assert not leaks(str(refused.value))
    result = await post(client, url)
    assert (result.status, result.error) == (None, str(refused.value))
    with pytest.raises(EgressRefused):
        await fetch(client, url, tmp_path / "file")


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("127.0.0.1:9000", "http://127.0.0.1:9000/"),
        ("10.0.0.0/8", "http://10.1.2.3:8080/"),
        ("10.0.0.0/8", "https://[::ffff:10.1.2.3]/"),
        ("receiver", "http://receiver:9000/"),
        ("hooks.internal:8080", "http://hooks.internal:8080/"),
        ("127.0.0.0/8", "http://localhost:9000/"),
    ],
)
async def test_listed_url(egress: MakeEgress, entry: str, url: str) -> None:
    egress(entry).check_url(url)
    with pytest.raises(BadUrl):
        egress("192.168.7.7").check_url(url)


async def test_listing_lifts_no_grammar(egress: MakeEgress) -> None:
    for url in ("http://user@receiver/", "http://receiver\\@x/", "ftp://receiver/"):
        with pytest.raises(BadUrl):
            egress("receiver").check_url(url)


# Names and addresses


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["10.0.0.1", "8.8.8.8"],
        ["8.8.8.8", "10.0.0.1"],
        ["2606:4700::1111", "fd00::1"],
        ["169.254.169.254"],
        ["fe80::1%eth0"],
        [*(f"8.8.{n}.{n}" for n in range(60)), "192.168.0.1"],
    ],
)
async def test_one_private_address_refuses_the_name(
    egress: MakeEgress, addresses: list[str], tmp_path: Path
) -> None:
    client = egress(lookup=Names(addresses))
    client.check_url("https://example.com/")
    assert (await post(client, "https://example.com/")).error == NOT_FOUND_OR_PRIVATE
    with pytest.raises(EgressRefused, match=NOT_FOUND_OR_PRIVATE):
        await fetch(client, "https://example.com/", tmp_path / "file")


@pytest.mark.parametrize("lookup", [no_such_name, Names([])], ids=["unknown", "without addresses"])
async def test_unknown_name_reads_like_a_private_one(
    egress: MakeEgress, tmp_path: Path, lookup: Lookup
) -> None:
    client = egress(lookup=lookup)
    assert (await post(client, "https://example.com/")).error == NOT_FOUND_OR_PRIVATE
    with pytest.raises(FetchFailed, match=NOT_FOUND_OR_PRIVATE):
        await fetch(client, "https://example.com/", tmp_path / "file")


async def test_rebinding_is_caught_when_it_happens(
    egress: MakeEgress, serve: Serve, tmp_path: Path
) -> None:
    """The same name, fine at the first connection, leads inside at the second."""
    authority = make_authority(tmp_path, "rebind.example.com")
    server = await serve(replies(b"x", headers={"Connection": "close"}), authority.server_context)
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    client = egress("127.0.0.1", ca_file=authority.ca_file, lookup=names)
    url = f"https://rebind.example.com:{server.port}/"
    await fetch(client, url, tmp_path / "first")
    with pytest.raises(EgressRefused, match=NOT_FOUND_OR_PRIVATE):
        await fetch(client, url, tmp_path / "second")
    assert (server.connections, len(names.asked)) == (1, 2)


async def test_only_what_was_checked_is_dialed(egress: MakeEgress, serve: Serve) -> None:
    """The name is asked for once per connection; a second answer would lead nowhere."""
    server = await serve(replies(b"hello"))
    names = Names(["127.0.0.1"], ["127.0.0.9"])
    client = egress(f"receiver:{server.port}", lookup=names)
    result = await post(client, f"http://receiver:{server.port}/hook?x=%41")
    assert (result.status, result.snippet) == (200, "hello")
    assert names.asked == ["receiver"]
    assert server.requests[0].headers["host"] == f"receiver:{server.port}"
    assert server.requests[0].line == "POST /hook?x=%41 HTTP/1.1"


async def test_an_ipv6_address_is_dialed_as_it_is_written(
    egress: MakeEgress, serve: Serve, tmp_path: Path
) -> None:
    """Judged by the address inside, since it is IPv4 that is mapped."""
    server = await serve(replies(b"x"))
    client = egress(server.entry)
    url = f"http://[::ffff:127.0.0.1]:{server.port}/f"
    assert (await post(client, url)).status == 200
    assert (await fetch(client, url, tmp_path / "f")).size == 1
    host = server.requests[0].headers["host"]
    assert host.startswith("[::ffff:")
    assert host.endswith(f"]:{server.port}")


async def test_name_may_lead_into_a_listed_network(
    egress: MakeEgress, serve: Serve, tmp_path: Path
) -> None:
    """The address rule is lifted by the network; https is still asked of the unlisted name."""
    server = await serve(replies(), make_authority(tmp_path, "a.example.com").server_context)
    client = egress("127.0.0.0/8", lookup=Names(["127.0.0.1"]))
    with pytest.raises(EgressRefused, match="not https"):
        await fetch(client, f"http://a.example.com:{server.port}/", tmp_path / "file")
    with pytest.raises(FetchFailed, match="certificate"):
        await fetch(client, f"https://a.example.com:{server.port}/", tmp_path / "file")


async def test_system_names(egress: MakeEgress, serve: Serve) -> None:
    server = await serve(replies())
    client = egress(f"localhost:{server.port}")
    assert (await post(client, f"http://localhost:{server.port}/")).status == 200


# TLS


async def test_own_authority(egress: MakeEgress, serve: Serve, tmp_path: Path) -> None:
    authority = make_authority(tmp_path, "hooks.example.com")
    server = await serve(replies(b"safe"), authority.server_context)
    names = Names(["127.0.0.1"])
    url = f"https://hooks.example.com:{server.port}/"
    entry = f"hooks.example.com:{server.port}"
    trusting = egress(entry, ca_file=authority.ca_file, lookup=names)
    assert (await post(trusting, url)).snippet == "safe"
    distrusting = egress(entry, lookup=names)
    assert (await post(distrusting, url)).error == "its TLS certificate is not valid"
    assert len(server.requests) == 1


# The object itself


def test_one_event_loop_only() -> None:
    client = Egress(AllowList.parse(["127.0.0.1:9"]))

    async def use() -> PostResult:
        return await post(client, "http://127.0.0.1:9/", seconds=1)

    first = asyncio.new_event_loop()
    try:
        assert first.run_until_complete(use()).status is None
        with pytest.raises(RuntimeError, match="event loop"):
            asyncio.run(use())
        first.run_until_complete(client.aclose())
    finally:
        first.close()


async def test_headers_are_sent_in_utf8(egress: MakeEgress, serve: Serve) -> None:
    """As a key that an operator chose for another agent may need it."""
    server = await serve(replies())
    headers = {"Authorization": "bearer \u20ac"}
    client = egress(server.entry)
    await client.exchange("GET", server.url(), headers, None, max_bytes=100, seconds=30)
    assert server.requests[0].headers["authorization"] == "bearer \u20ac"
