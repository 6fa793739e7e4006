"""Signed links and cursors: good ones pass, anything else does not, nothing raises."""

import re
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from agentpost.storage.signing import CursorSigner, LinkSigner, LinkState

NOW = 1_800_000_000
FILE = "wrk_01/reports/\u00dcbersicht 1&2?.pdf"
links = LinkSigner(b"secret", "https://files.example.com/")
cursors = CursorSigner(b"secret")


def parts(link: str) -> tuple[str, str, str, str]:
    """File id, exp, rev and sig as a server reads them from the URL."""
    url = urlsplit(link)
    query = parse_qs(url.query, strict_parsing=True)
    file_id = unquote(url.path.removeprefix("/files/"))
    return file_id, query["exp"][0], query["rev"][0], query["sig"][0]


def test_link_is_a_plain_url() -> None:
    link = links.link("wrk_01/a b/c.pdf", '"abc123"', NOW)
    assert re.fullmatch(
        rf"https://files\.example\.com/files/wrk_01/a%20b/c\.pdf\?exp={NOW}&rev=abc123&sig=[\w-]{{43}}",
        link,
    )


@pytest.mark.parametrize("file_id", [FILE, "wrk_1/a", "wrk_1/a/b.c", "wrk_1/%2e%2e", "wrk_1/a#b+c"])
def test_link_opens_its_file_until_it_expires(file_id: str) -> None:
    link = links.link(file_id, '"abc123"', NOW)
    assert parts(link)[0] == file_id
    assert links.check(*parts(link), now=NOW - 0.001) is LinkState.OK
    assert links.check(*parts(link), now=NOW) is LinkState.EXPIRED


@pytest.mark.parametrize("field", range(4))
@pytest.mark.parametrize("change", ["", "x", "\u00fc", "\ud800", "\n", "0"])
def test_any_change_is_forgery(field: int, change: str) -> None:
    good = list(parts(links.link(FILE, '"abc123"', NOW)))
    good[field] = good[field] + change if change else ""
    file_id, exp, rev, sig = good
    assert links.check(file_id, exp, rev, sig, now=NOW - 10) is LinkState.FORGED


def test_parts_cannot_be_shifted() -> None:
    """The same characters in other places are another link."""
    _, exp, _, sig = parts(links.link("bc/d", "a", NOW))
    assert links.check("c/d", exp, "ab", sig, now=0) is LinkState.FORGED
    assert links.check("bc/d", exp[:-1], exp[-1] + "a", sig, now=0) is LinkState.FORGED


def test_expired_forgery_is_forgery() -> None:
    assert links.check("a/b", "1", "r", "x" * 43, now=NOW) is LinkState.FORGED


@pytest.mark.parametrize("exp", ["-5", "1e9", " 17", "\u0661\u0667", "9" * 40])
def test_signed_nonsense_expiry_is_forged(exp: str) -> None:
    """Not even our own signature makes a number of something else."""
    sig = parts(LinkSigner(b"secret", "x").link("a/b", "r", exp))[3]  # type: ignore[arg-type]
    assert links.check("a/b", exp, "r", sig, now=0) is LinkState.FORGED


@pytest.mark.rule("EventList.cursor")
def test_cursor_round_trip() -> None:
    place = ("msg_01jd8x0w2k4z6q8r", "key_01jd8x0w2k4z6q8r", 123_456, NOW)
    text = cursors.make(*place)
    assert cursors.read(text) == place
    assert re.fullmatch(r"[\w-]{1,120}", text)


def test_ids_of_any_length_keep_apart() -> None:
    assert cursors.read(cursors.make("m", "k" * 200, 0, 0)) == ("m", "k" * 200, 0, 0)
    assert cursors.read(cursors.make("m" * 200, "", 2**32 - 1, 2**40)) == (
        "m" * 200,
        "",
        2**32 - 1,
        2**40,
    )


def test_every_changed_character_is_noticed() -> None:
    text = cursors.make("msg_1", "key_1", 7, NOW)
    for index, old in enumerate(text):
        changed = text[:index] + ("A" if old != "A" else "B") + text[index + 1 :]
        assert cursors.read(changed) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "AAAA",
        "A" * 60,
        "A" * 5_000,
        "====",
        "\u00fc",
        "\ud800",
        "a b",
        "a\n",
        "\x00",
        "+/",
    ],
    ids=ascii,
)
def test_nonsense_is_no_cursor(text: str) -> None:
    assert cursors.read(text) is None


@pytest.mark.parametrize("tail", ["=", "\n", " ", "!", "A"])
def test_appended_text_is_noticed(tail: str) -> None:
    assert cursors.read(cursors.make("msg_1", "key_1", 7, NOW) + tail) is None


def test_what_an_earlier_secret_signed_stays_valid_while_it_is_listed() -> None:
    link = parts(links.link(FILE, '"abc123"', NOW))
    cursor = cursors.make("msg_1", "key_1", 7, NOW)
    overlapping = LinkSigner(b"new", "https://files.example.com/", [b"other", b"secret"])
    assert overlapping.check(*link, now=NOW - 1) is LinkState.OK
    assert CursorSigner(b"new", [b"secret"]).read(cursor) == ("msg_1", "key_1", 7, NOW)
    for ended in ([], [b"other"]):
        after = LinkSigner(b"new", "https://files.example.com/", ended)
        assert after.check(*link, now=NOW - 1) is LinkState.FORGED
        assert CursorSigner(b"new", ended).read(cursor) is None


def test_only_the_newest_secret_signs() -> None:
    overlapping = LinkSigner(b"new", "https://files.example.com/", [b"secret"])
    alone = LinkSigner(b"new", "https://files.example.com/")
    assert overlapping.link(FILE, '"r"', NOW) == alone.link(FILE, '"r"', NOW)
    made = CursorSigner(b"new", [b"secret"]).make("msg_1", "key_1", 7, NOW)
    assert CursorSigner(b"new").read(made) is not None
