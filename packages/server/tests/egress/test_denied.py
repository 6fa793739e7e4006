"""What the operator denies stays closed: by name, by address, after resolution and redirects."""

from ipaddress import ip_address
from pathlib import Path

import pytest

from agentpost.egress.addresses import DenyList
from agentpost.egress.errors import DENIED, EgressRefused
from agentpost.egress.urls import BadUrl
from tests.egress.calls import NOT_FOUND_OR_PRIVATE, Names, fetch, post
from tests.egress.conftest import MakeEgress, Serve
from tests.egress.hostile import replies

DENY = DenyList.parse(
    ["Evil.example", "*.below.example", "8.8.8.0/24", "2606:4700::/32", "10.0.0.5"]
)


@pytest.mark.parametrize(
    ("host", "denied"),
    [
        ("evil.example", True),
        ("www.evil.example", True),
        ("a.b.evil.example", True),
        ("notevil.example", False),
        ("evil.example.com", False),
        ("below.example", False),
        ("x.below.example", True),
        ("example", False),
    ],
)
def test_names(host: str, denied: bool) -> None:
    assert DENY.has_host(host) is denied


@pytest.mark.parametrize(
    ("address", "denied"),
    [("8.8.8.8", True), ("::ffff:8.8.8.8", True), ("2606:4700::1", True), ("8.8.4.4", False)],
)
def test_addresses(address: str, denied: bool) -> None:
    assert DENY.has_address(ip_address(address)) is denied


@pytest.mark.parametrize("entry", ["https://x.example", "x.example:443", "*", "a b", "x.example/p"])
def test_nonsense_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="AGENTPOST_EGRESS_DENY"):
        DenyList.parse(["ok.example", entry])


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "https://WWW.Evil.Example./",
        "https://8.8.8.8/",
        "https://[::ffff:808:808]/",
        "https://10.0.0.5/",
    ],
)
async def test_a_denied_url_is_refused_even_when_it_is_listed(
    egress: MakeEgress, url: str, tmp_path: Path
) -> None:
    client = egress("10.0.0.0/8", "evil.example", "www.evil.example", "8.8.8.8", deny=DENY)
    with pytest.raises(BadUrl, match=DENIED):
        client.check_url(url)
    assert (await post(client, url)).error == DENIED
    with pytest.raises(EgressRefused, match=DENIED):
        await fetch(client, url, tmp_path / "f")


async def test_a_name_that_leads_to_a_denied_address_is_refused_when_it_is_dialed(
    egress: MakeEgress, serve: Serve
) -> None:
    """Also when it was fine before, and when its name is listed."""
    server = await serve(replies(b"x", headers={"Connection": "close"}))
    deny = DenyList.parse(["127.0.0.2", "8.8.8.0/24"])
    names = Names(["127.0.0.1"], ["127.0.0.2"], ["8.8.8.8"], ["9.9.9.9", "8.8.8.8"])
    client = egress(f"shop.example:{server.port}", deny=deny, lookup=names)
    url = f"http://shop.example:{server.port}/"
    client.check_url(url)
    assert (await post(client, url)).status == 200
    assert (await post(client, url)).error == NOT_FOUND_OR_PRIVATE  # says nothing of inside
    assert (await post(client, url)).error == DENIED
    assert (await post(client, url)).error == DENIED
    assert server.connections == 1


async def test_a_redirect_to_a_denied_host_is_refused(
    egress: MakeEgress, serve: Serve, tmp_path: Path
) -> None:
    to = {"Location": "https://www.evil.example/x"}
    server = await serve(replies(status="302 Found", headers=to))
    with pytest.raises(EgressRefused, match=DENIED):
        await fetch(egress(server.entry, deny=DENY), server.url(), tmp_path / "f")
    assert not (tmp_path / "f").exists()


async def test_ports(egress: MakeEgress, tmp_path: Path) -> None:
    client = egress("shop.example:9000", "lab.example", ports=[443, 9443])
    for url in ("https://a.example/", "http://shop.example:9000/", "http://lab.example:81/"):
        client.check_url(url)
    for url, allowed in (("https://a.example:8443/", "443"), ("https://a.example:9443/", "443")):
        with pytest.raises(BadUrl, match=f"its port is not {allowed}$"):
            client.check_url(url)
    with pytest.raises(EgressRefused, match="its port is not 443 or 9443"):
        await fetch(client, "https://a.example:8443/", tmp_path / "f")
    with pytest.raises(BadUrl, match="its port is not allowed"):
        egress(ports=[25]).check_url("https://a.example/")
