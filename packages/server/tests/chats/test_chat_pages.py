"""The chat pages without a browser: forms, previews, uploads, and who may see what."""

import asyncio
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentpost.accounts import actions as accounts
from agentpost.chats import lists
from agentpost.previews import pictures
from agentpost.users.role_rules import Role
from agentpost.web.markdown import SHOWN_CHARACTERS, markdown, plain
from tests.web.site import Site

HOSTILE = "<script>alert(1)</script>"
RUNS = re.compile(r"<script|<img|<iframe|\son\w+=|javascript:", re.IGNORECASE)


def store_file(site: Site, name: str, content: bytes, content_type: str) -> str:
    """The path of a file of a work, below `/chat/`, without its verb."""
    work = site.work()
    site.stored_file(work, name, content_type, content)
    return f"/chat/{work.id}/{{}}/{name}"


def test_a_first_message_opens_its_conversation(browser: httpx2.Client) -> None:
    empty = browser.get("/chat").text
    assert empty.count('name="example"') == 3
    answer = browser.post("/chat", data={"text": "  Hello there \n"})
    assert answer.status_code == 303
    address = answer.headers["location"]
    assert re.fullmatch(r"/chat/cnv_[0-9a-f]{32}", address)
    page = browser.get(address).text
    assert "Hello there" in page
    assert "Waiting for its turn" in page or "Thinking" in page
    assert address in browser.get("/chat").text
    assert browser.post(address, data={"text": "And more"}).headers["location"] == address
    assert "And more" in browser.get(address).text


def test_an_example_brings_its_file(browser: httpx2.Client) -> None:
    answer = browser.post("/chat/examples", data={"example": "0"})
    assert "sales.csv" in browser.get(answer.headers["location"]).text
    for wrong in ("3", "-1", "x", ""):
        assert browser.post("/chat/examples", data={"example": wrong}).status_code == 404


@pytest.mark.parametrize(
    ("own", "offered"), [(("Weather in <b>?", "And tomorrow?"), True), ((), False)]
)
def test_the_examples_are_the_agents_own(
    own: tuple[str, ...], offered: bool, site: Site, browser: httpx2.Client
) -> None:
    site.ctx.examples = own
    page = browser.get("/chat").text
    assert "table of sales" not in page
    assert ("/chat/examples" in page) == offered
    assert ("Weather in &lt;b&gt;?" in page) == offered
    answer = browser.post("/chat/examples", data={"example": "1"})
    if offered:
        chat = browser.get(answer.headers["location"]).text
        assert "And tomorrow?" in chat
        assert "sales.csv" not in chat
    else:
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"text": " "}, "Write something, or add a file."),
        ({"text": HOSTILE, "upload": "up_1"}, "is not ready to be attached"),
        ({"text": "x" * 20_001}, "is over 20,000 characters"),
    ],
)
def test_what_was_written_is_not_lost(
    site: Site, browser: httpx2.Client, sent: dict[str, str], said: str
) -> None:
    chat = browser.post("/chat", data={"text": "first"}).headers["location"]
    for address in ("/chat", chat):
        answer = browser.post(address, data=sent)
        assert answer.status_code == 422
        assert said in answer.text
        assert HOSTILE not in answer.text
        if sent["text"].strip():
            assert answer.text.count("&lt;script&gt;") == 1 or "xxxx" in answer.text
    assert site.write(lambda tx: tx.one("SELECT COUNT(*) FROM messages")) == (1,), "the first"


def test_deleting_says_so_once(site: Site, browser: httpx2.Client) -> None:
    work = site.work()
    answer = browser.post(f"/chat/{work.id}/delete")
    assert answer.headers["location"] == "/chat?note=deleted"
    assert "Chat and files deleted." in browser.get("/chat?note=deleted").text
    assert "Chat and files deleted." not in browser.get("/chat?note=<b>").text
    assert browser.get(f"/chat/{work.id}").status_code == 404
    assert browser.post(f"/chat/{work.id}/delete").status_code == 404


def test_a_made_page_has_no_rights(site: Site, browser: httpx2.Client) -> None:
    path = store_file(site, "a.html", b"<p>made</p><script>alert(1)</script>", "text/html")
    text = store_file(site, "a.txt", b"<p>made</p>", "text/plain")
    answer = browser.get(path.format("frame"))
    assert browser.get(text.format("frame")).status_code == 404
    policy = answer.headers["content-security-policy"].split("; ")
    assert policy[:2] == ["sandbox", "default-src 'none'"]
    assert not [part for part in policy if part.startswith("script-src")]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_pages_of_a_document_are_a_picture(site: Site, browser: httpx2.Client) -> None:
    import pypdfium2

    document = pypdfium2.PdfDocument.new()
    for _ in range(pictures.PAGES_MAX + 1):
        document.new_page(200, 280)
    made = io.BytesIO()
    document.save(made)
    good = store_file(site, "a.pdf", made.getvalue(), "application/pdf")
    broken = store_file(site, "b.pdf", b"%PDF-1.7 broken", "application/pdf")
    answer = browser.get(good.format("pages"), timeout=60)
    assert answer.content.startswith(b"\x89PNG")
    assert answer.headers["content-type"] == "image/png"
    assert browser.get(broken.format("pages"), timeout=60).status_code == 204
    assert '<img src="/chat/' in browser.get(good.format("preview")).text


def test_uploads_of_the_composer(browser: httpx2.Client) -> None:
    def announced(browser: httpx2.Client, **fields: Any) -> httpx2.Response:
        return browser.post("/chat/uploads", data={"name": "a.csv", "size": "5", **fields})

    place = announced(browser, type="text/csv").json()
    assert place["id"].startswith("up_")
    assert place["url"].endswith("/uploads")
    early = browser.post(f"/chat/uploads/{place['id']}/complete")
    assert "has not arrived" in early.json()["error"]
    for fields in ({"size": "0"}, {"size": "x"}, {"size": "9" * 30}, {"size": str(10**12)}):
        assert announced(browser, **fields).json().keys() == {"error"}
    unknown = browser.post(f"/chat/uploads/up_{'0' * 32}/complete").json()
    assert unknown == {"error": "There is no such upload."}


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "[a](javascript:alert(1))",
        "![a](https://evil.example/x.png)",
        "[a](data:text/html,<script>alert(1)</script>)",
        "<img src=x onerror=alert(1)>",
        "<javascript:alert(1)>",
        '[a](https://e.example "x\\" onclick=\\"alert(1)")',
        "`<script>`\n\n```html\n<script>alert(1)</script>\n```",
        "| <img> |\n|---|\n| [a](vbscript:x) |",
    ],
)
def test_texts_of_agents_cannot_run(text: str) -> None:
    shown = str(markdown(text))
    for tag in re.findall(r"<[^>]*>", shown):
        assert not RUNS.search(re.sub(r'="[^"]*"', '=""', tag)), shown
    assert not re.search(r'href="(?!https://)', shown)


def test_a_long_text_is_cut() -> None:
    shown = str(markdown("word " * SHOWN_CHARACTERS))
    assert len(shown) < SHOWN_CHARACTERS + 100
    assert shown.rstrip().endswith("…</p>")


def test_the_list_is_searched_in_the_address(site: Site, browser: httpx2.Client) -> None:
    site.work(title="Quarterly <b>chart</b>")
    for n in range(lists.LIST_PAGE):
        site.clock.advance(1)
        site.work(title=f"Other {n}")
    found = browser.get("/chat?q=quarterly").text
    assert "Quarterly &lt;b&gt;chart" in found
    assert "Other 1" not in found
    assert "No chat has" in browser.get("/chat?q=%3Cnothing").text
    older = re.search(r'rel="next" href="(.*?)"', browser.get("/chat").text)
    assert older is not None
    assert "Quarterly" in browser.get(older[1].replace("&amp;", "&")).text


def test_half_of_a_path_leads_nowhere(site: Site, browser: httpx2.Client, tmp_path: Path) -> None:
    path = store_file(site, "a.txt", b"x", "text/plain")
    for wrong in ("../a.txt", "b.txt", ""):
        address = path.format("preview").replace("a.txt", wrong)
        assert browser.get(address).status_code == 404, address


def test_what_was_sent_is_shown_like_what_was_made(site: Site, browser: httpx2.Client) -> None:
    page = browser.get(browser.post("/chat/examples", data={"example": "0"}).headers["location"])
    address = re.search(r'href="(/chat/msg_[0-9a-f]{32}/files/0)"', page.text)
    assert address is not None
    preview = address[1].replace("/files/", "/preview/")
    assert f'hx-get="{preview}"' in page.text
    assert "<td>North</td>" in browser.get(preview).text
    link = (
        browser.get(address[1]).headers["location"].removeprefix(site.ctx.settings.public_file_url)
    )
    assert link.startswith("/files/msg_")
    download = browser.get(link)
    assert download.text.startswith("month,region,revenue")
    assert download.headers["content-security-policy"].startswith("sandbox")
    assert browser.get(link.replace("exp=", "exp=9")).status_code == 403
    for verb in ("preview", "frame", "pages", "files"):
        wanted = address[1].replace("/files/", f"/{verb}/")
        assert browser.get(wanted[:-1] + "7").status_code == 404
    site.clock.advance(site.ctx.settings.message_retention_seconds)
    for gone in (preview, address[1], link):
        assert site.stranger().get(gone).status_code in (401, 403, 404)
        assert browser.get(gone).status_code in (401, 403, 404)


def test_all_files_of_a_work_come_as_one_archive(site: Site, browser: httpx2.Client) -> None:
    work = site.work(title='Chart "é"')
    for name in ("a.txt", "pages/b.txt"):
        file = site.file(work, name, name.rpartition("/")[2])
        asyncio.run(site.ctx.storage.put(file.blob, b"12345"))
    address = f"/chat/{work.id}/files/"
    answer = browser.get(address)
    assert browser.get(f"/chat/{site.work().id}/files/").status_code == 404
    for wrong in ("exe_1", "exe_" + "0" * 32):
        assert browser.get(f"{address}?job={wrong}").status_code == 404
    assert 'attachment; filename="Chart ___.zip"' in answer.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert {each: archive.read(each) for each in archive.namelist()} == {
            "a.txt": b"12345",
            "pages/b.txt": b"12345",
        }


def test_who_wrote_it_stands_beside_it(site: Site) -> None:
    bob = site.user("bob@example.com", Role.MEMBER)
    key = asyncio.run(accounts.create_key(site.ctx, site.ann, "night shift")).record
    asked = site.conversation(site.ann, owner=key.id).id
    site.message("by a key", id="msg_" + "1" * 32, key_id=key.id, conversation_id=asked, turn_no=1)
    with site.browser() as ann, site.browser(bob.id) as other:
        chat = ann.post("/chat", data={"text": "begun by Ann"}).headers["location"]
        other.post(chat, data={"text": "joined by Bob"})
        mine, theirs = ann.get(chat).text, other.get(chat).text
        listed, seen = ann.get("/chat").text, other.get("/chat").text
        by_key = ann.get(f"/chat/{asked}").text
    below = r'class="soft when">\s*<bdi>{}</bdi> · '
    for page, other_email, own in ((mine, "bob", "ann"), (theirs, "ann", "bob")):
        assert re.search(below.format(f"{other_email}@example.com"), page)
        assert not re.search(below.format(f"{own}@example.com"), page)
    assert re.search(below.format("night shift") + "through the API", by_key)
    assert "<bdi>night shift</bdi> · " in listed
    assert "<bdi>ann@example.com</bdi> · " in seen
    assert "<bdi>ann@example.com</bdi> · " not in listed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Sales** grew, see [page](https://e.example)\n\n- a\n- b", "Sales grew, see page a b"),
        ("# Title\n\n| a | b |\n|---|---|\n| 1 | `2` |", "Title a b 1 2"),
        ("<b>x</b> &amp; *y*\n![chart](a.png)", "<b>x</b> & y chart"),
        ("```\nx = 1\n```", "x = 1"),
        ("word " * 100, ("word " * 40).strip()),
    ],
)
def test_a_list_shows_texts_without_their_marks(text: str, shown: str) -> None:
    assert plain(text).strip() == shown
