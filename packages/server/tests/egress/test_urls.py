"""The strict grammar: what every URL reader takes alike, and nothing else (design: The way out)."""

from ipaddress import ip_address

import pytest

from agentpost.egress.urls import WEBHOOK_PORTS, BadUrl, parse_url, require_public

ACCEPTED = {
    "https://example.com": ("example.com", 443, "/", ""),
    "https://example.com/": ("example.com", 443, "/", ""),
    "HTTPS://EXAMPLE.com/Path": ("example.com", 443, "/Path", ""),
    "https://example.com:8443/hook": ("example.com", 8443, "/hook", ""),
    "https://example.com?a=b": ("example.com", 443, "/", "a=b"),
    "https://example.com/a?b=c&d=%20e#frag": ("example.com", 443, "/a", "b=c&d=%20e"),
    "https://example.com/@user:x/%2e%2e/": ("example.com", 443, "/@user:x/%2e%2e/", ""),
    "https://example.com?@127.0.0.1/": ("example.com", 443, "/", "@127.0.0.1/"),
    "https://example.com#@127.0.0.1/": ("example.com", 443, "/", ""),
    "https://example.com./": ("example.com", 443, "/", ""),
    "https://xn--bcher-kva.example/": ("xn--bcher-kva.example", 443, "/", ""),
    "https://my_host.example.com/": ("my_host.example.com", 443, "/", ""),
    "https://1.2.3.4.example.com/": ("1.2.3.4.example.com", 443, "/", ""),
    "http://example.com/": ("example.com", 80, "/", ""),
    "https://8.8.8.8/": ("8.8.8.8", 443, "/", ""),
    "https://[2606:4700::1111]:8443/x": ("2606:4700::1111", 8443, "/x", ""),
    "https://[2606:4700:0:0::1111]/": ("2606:4700::1111", 443, "/", ""),
    f"https://{'a' * 63}.com/": (f"{'a' * 63}.com", 443, "/", ""),
}


def test_accepted() -> None:
    parsed = {text: parse_url(text, characters_max=2_000) for text in ACCEPTED}
    assert {
        text: (url.host, url.port, url.path, url.query) for text, url in parsed.items()
    } == ACCEPTED


REFUSED = [
    *("", " ", "example.com", "//example.com/", "/path", "https:", "https://", "https:///"),
    *("https:///example.com/", "https:example.com", "https:/example.com", "ftp://example.com/"),
    *("file:///etc/passwd", "gopher://example.com/", "data:text/plain,x", "javascript:alert(1)"),
    *("ws://example.com/", "https ://example.com/"),
    # white space, control and non-ASCII characters, anywhere
    *(" https://example.com/", "https://example.com/ ", "https://example.com/a b"),
    *("https://exam\tple.com/", "https://exam\nple.com/", "https://example.com/\r\nX-Header: 1"),
    *("https://example.com/\x00", "https://example.com/\x7f", "https://b\u00fccher.example/"),
    *("https://example.com/\u00fc", "https://\uff11\uff12\uff17.0.0.1/"),
    *("https://\u2460\u2461\u2466.0.0.1/", "https://\u24db\u24decalhost/"),
    *("https://127\u30020\u30020\u30021/", "https://exa\u00admple.com/"),
    "https://example.com/\ud800",
    # readers disagree
    *("https://example.com\\@127.0.0.1/", "https://example.com\\/", "https:\\\\example.com/"),
    "https://example.com/\\..",
    # user names
    *("https://user@example.com/", "https://user:pass@example.com/", "https://@example.com/"),
    *("https://:@example.com/", "https://127.0.0.1@example.com/"),
    "https://example.com%40127.0.0.1@1.2.3.4/",
    # ports
    *("https://example.com:/", "https://example.com:0/", "https://example.com:65536/"),
    *("https://example.com:99999/", "https://example.com:0443/", "https://example.com:+443/"),
    *("https://example.com:-1/", "https://example.com:443:443/", "https://example.com:4_43/"),
    *("https://example.com:\uff14\uff14\uff13/", "https://example.com:http/"),
    # hosts that some readers take for IPv4
    *("https://127.1/", "https://127.0.1/", "https://2130706433/", "https://0x7f000001/"),
    *("https://0x7f.0.0.1/", "https://0177.0.0.1/", "https://017700000001/", "https://127.0.0.01/"),
    *("https://00/", "https://0/", "https://127.0.0.1./", "https://127.0.0.1.2/"),
    *("https://256.0.0.1/", "https://1.2.3/", "https://127.0x1/", "https://example.0x7f/"),
    "https://example.127/",
    # names
    *("https://./", "https://../", "https://example.com../", "https://.example.com/"),
    *("https://exam..ple.com/", "https://-example.com/", "https://example-.com/"),
    *("https://exa%6dple.com/", "https://127.0.0.1%00.example.com/"),
    *("https://example.com,127.0.0.1/", "https://*.example.com/"),
    f"https://{'a' * 64}.com/",
    "https://" + ".".join(["a" * 60] * 5) + ".com/",
    # IPv6
    *("https://2606:4700::1111/", "https://[2606:4700::1111/", "https://2606:4700::1111]/"),
    *("https://[]/", "https://[::]x/", "https://[:::]/", "https://[fe80::1%25eth0]/"),
    *("https://[fe80::1%eth0]/", "https://[v1.fe80::a+en1]/", "https://[127.0.0.1]/"),
    *("https://[::ffff:127.1]/", "https://[1:2:3:4:5:6:7:8:9]/", "https://[example.com]/"),
]


def is_taken(text: str, ports: frozenset[int] | None = None) -> bool:
    """Whether it is a URL; with ``ports``, a public one with one of these."""
    try:
        url = parse_url(text, characters_max=2_000)
        if ports is not None:
            require_public(url, ports=ports)
    except BadUrl:
        return False
    return True


def test_refused() -> None:
    assert [text for text in REFUSED if is_taken(text)] == []


def test_length_is_counted_to_the_character() -> None:
    base = "https://example.com/"
    parse_url(base.ljust(2_000, "a"), characters_max=2_000)
    with pytest.raises(BadUrl, match="longer than 2000"):
        parse_url(base.ljust(2_001, "a"), characters_max=2_000)


def test_addresses_are_reported_from_names() -> None:
    assert parse_url("https://8.8.8.8/", characters_max=99).ip == ip_address("8.8.8.8")
    assert parse_url("https://[::1]/", characters_max=99).ip == ip_address("::1")
    assert parse_url("https://example.com/", characters_max=99).ip is None


NOT_PUBLIC = [
    *("http://example.com/", "http://example.com:443/", "https://example.com:80/"),
    *("https://example.com:22/", "https://example.com:8080/", "https://localhost/"),
    *("https://localhost./", "https://LOCALHOST/", "https://a.localhost/", "https://intranet/"),
    *("https://printer.local/", "https://metadata.google.internal/", "https://router.lan/"),
    *("https://nas.home.arpa/", "https://1.0.0.127.in-addr.arpa/", "https://vault.corp/"),
    "https://host.localdomain/",
]
PUBLIC = [
    *("https://example.com/", "https://example.com:443/", "https://example.com:8443/"),
    *("https://local.example.com/", "https://internal.example.com/", "https://example.dev/"),
    "https://8.8.8.8/",
]


def test_public() -> None:
    assert [url for url in NOT_PUBLIC if is_taken(url, WEBHOOK_PORTS)] == []
    assert [url for url in PUBLIC if not is_taken(url, WEBHOOK_PORTS)] == []


def test_any_port() -> None:
    require_public(parse_url("https://example.com:9000/", characters_max=99), ports=None)
