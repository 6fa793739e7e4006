"""What the pages show, to whom, and with which headers."""

import asyncio
import re
from pathlib import Path

import httpx2
import pytest

from agentpost.accounts import actions as accounts, overview
from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost.domain.errors import StoreUnavailable
from agentpost.jobs.rules import JobState
from agentpost.limits import allowances
from agentpost.mail import actions as mail
from agentpost.webhooks.records import EndpointRecord
from tests.contract.test_shapes import blank
from tests.web.busy import fill
from tests.web.site import Site, open_site

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}

WANTED = re.compile(r'(?<=name="next" value=")[^"]*')


def titled(page: httpx2.Response) -> str:
    match = re.search(r"<h1>(.*?)</h1>", page.text)
    assert match is not None
    return match[1]


def test_the_dashboard_shows_the_account(site: Site, browser: httpx2.Client) -> None:
    site.work(title="Quarterly chart")
    asyncio.run(allowances.override(site.ctx, site.ann, {"running_jobs": 17}))
    page = browser.get("/dashboard")
    for text in ("Ann", "12.50", "0 of 17", "Quarterly chart", "$AGENTPOST_KEY", "/v1/messages"):
        assert text in page.text
    assert "svc_key_" not in page.text


def test_an_empty_dashboard_says_how_to_begin(site: Site) -> None:
    poor = asyncio.run(accounts.create(site.ctx, "bob@example.com", "Bob")).id
    with site.browser(poor) as browser:
        page = browser.get("/dashboard").text
    assert "No chats yet" in page
    assert "agentpost credits add bob@example.com" in page


def test_the_dashboard_says_what_fails_and_what_to_do(site: Site) -> None:
    busy = fill(site)
    with site.browser(busy.account) as browser:
        page = browser.get("/dashboard").text
    assert "error=bad_request&amp;since=24h" in page
    assert "/dashboard/messages?status=failed" in page
    assert "disabled" in page
    assert "The last response was 503." in page
    problems = page.partition("Needs attention")[2].partition("</ul>")[0]
    assert problems.count('<li class="row">') == 3
    assert "more problem" in page
    assert page.count("/turn") == 1
    assert "Get started" not in page


@pytest.mark.parametrize(
    ("states", "question", "shown"),
    [
        ([], None, "idle"),
        ([], "Which month?", "needs input"),
        ([JobState.QUEUED], "Which month?", "blocked"),
        ([JobState.QUEUED, JobState.RUNNING], "Which month?", "running"),
        ([JobState.OVERDUE], None, "running"),
        ([JobState.FAILED, JobState.COMPLETED], None, "completed"),
        ([JobState.COMPLETED, JobState.FAILED], None, "failed"),
        ([JobState.STOPPED], None, "stopped"),
        ([JobState.QUEUE_EXPIRED], None, "expired"),
        ([JobState.LOST], None, "expired"),
    ],
)
def test_a_work_shows_how_it_stands(
    site: Site, browser: httpx2.Client, states: list[JobState], question: str | None, shown: str
) -> None:
    work = site.work(question=question)
    for state in states:
        site.clock.advance(1)
        site.job(work, state, f"Step <{state}>")
    executing = sum(state in (JobState.RUNNING, JobState.OVERDUE) for state in states)
    dashboard, chat = browser.get("/dashboard").text, browser.get(f"/chat/{work.id}").text
    assert f"{executing} of 5" in dashboard
    for page in (dashboard, chat):
        assert re.findall(r'<span class="state \w+">(.*?)</span>', page) == [shown]
    steps = [f"Step &lt;{state}&gt;" for state in states if f"Step &lt;{state}&gt;" in chat]
    assert len(steps) == executing
    assert ("Check again" in chat) == (shown == "running")
    assert ("Which month?" in chat) == (shown == "needs input")


def test_failed_work_is_no_result(site: Site, browser: httpx2.Client) -> None:
    work = site.work(text="The file has no column called month.")
    site.job(work, JobState.FAILED)
    page = browser.get(f"/chat/{work.id}").text
    assert "<h2>What went wrong</h2>" in page
    assert "<h2>Result</h2>" not in page
    assert "no column called month" in page


def test_the_dashboard_shows_messages_without_work(site: Site, browser: httpx2.Client) -> None:
    sent = {
        "What is <b>this</b>?": {"reply": "A chart of May.", "status": "completed"},
        "Draw it": {"status": "failed", "reason": "turn_failed"},
        "": {"status": "needs_input", "reply": "Which one?"},
    }
    for text, fields in sent.items():
        site.clock.advance(1)
        site.message(text, **fields)
    site.message("Long gone", expires_at=site.clock.now())
    page = browser.get("/dashboard").text
    shown = [
        "(files only)",
        "Which one?",
        "needs input",
        "Draw it",
        "failed: turn failed",
        "What is &lt;b&gt;this&lt;/b&gt;?",
        "A chart of May.",
        "completed",
    ]
    places = [page.index(text) for text in shown]
    assert places == sorted(places), "the newest first"
    assert "Long gone" not in page


def test_pages_have_an_icon(stranger: httpx2.Client) -> None:
    page = stranger.get("/dashboard")
    assert '<link rel="icon" href="/favicon.ico">' in page.text
    assert "img-src 'self'" in page.headers["content-security-policy"]
    icon = stranger.get("/favicon.ico")
    assert (icon.headers["content-type"], icon.text[:4]) == ("image/svg+xml", "<svg")


def test_a_chat_shows_its_text_and_its_question(site: Site, browser: httpx2.Client) -> None:
    work = site.work(text="First *line*\n\nthe next", question="Which month?\nMay or June?")
    file = site.file(work, "out/a b.csv", "a b.csv")
    page = browser.get(f"/chat/{work.id}")
    assert titled(page) == "<bdi>A chart</bdi>"
    assert "<p>First <em>line</em></p>\n<p>the next</p>" in page.text
    assert "Which month?\nMay or June?" in page.text
    href = f"/chat/{work.id}/files/out/a%20b.csv"
    assert f'href="{href}"' in page.text
    answer = browser.get(href)
    assert answer.status_code == 303
    fresh = site.ctx.links.file(file.file_id, file.revision)
    assert answer.headers["location"] == fresh


def test_a_page_left_open_still_gives_files(site: Site, browser: httpx2.Client) -> None:
    """Links end after an hour; the page makes them when they are followed."""
    work = site.work()
    file = site.file(work, "a.txt", "a.txt")
    asyncio.run(site.ctx.storage.put(file.blob, b"hello"))
    href = f"/chat/{work.id}/files/a.txt"
    first = browser.get(href).headers["location"]
    site.clock.advance(site.ctx.settings.link_seconds + 1)
    second = browser.get(href).headers["location"]
    path = {link: link[link.index("/files/") :] for link in (first, second)}
    assert browser.get(path[first]).status_code == 403
    assert browser.head(path[second]).status_code == 200


def turned_off(site: Site, url: str) -> str:
    """The id of an endpoint that was turned off, of which the owner was told."""
    now = site.clock.now()
    endpoint = blank(
        EndpointRecord,
        id=new_id(ids.ENDPOINT, now),
        account_id=site.ann,
        url=url,
        failing_since=now,
    )
    site.write(lambda tx: mail.endpoint_turned_off(tx, endpoint, now))
    made: str = endpoint.id
    return made


def test_mail_that_nobody_can_send_is_shown(site: Site, browser: httpx2.Client) -> None:
    """Without a mail server a person finds it here (design: Signing in)."""
    assert "No e-mails yet" in browser.get("/dashboard/mail").text
    mine = turned_off(site, "https://hooks<script>.example.com/path-token")
    assert 'href="/dashboard/mail"' in browser.get("/dashboard").text
    page = browser.get("/dashboard/mail").text
    for text in ("A webhook endpoint was disabled", mine, "ann@example.com", "No mail server"):
        assert text in page
    assert "https://hooks&lt;script&gt;.example.com/…" in page
    assert "path-token" not in page


def test_mail_that_was_sent_says_when(tmp_path: Path) -> None:
    with open_site(tmp_path, smtp_url="smtp://127.0.0.1:1") as site, site.browser() as browser:
        turned_off(site, "https://hooks.example.com/")
        assert "pending" in browser.get("/dashboard/mail").text
        site.write(lambda tx: tx.execute("UPDATE mails SET sent_at = ?", (site.clock.now(),)))
        assert re.search(r"· sent <time", browser.get("/dashboard/mail").text)


def test_foreign_deleted_and_unknown_look_the_same(site: Site) -> None:
    eve = asyncio.run(accounts.create(site.ctx, "eve@example.com", "Eve")).id
    private = site.work(eve, title="Private")
    site.file(private, "a.txt", "a.txt")
    foreign, talk = private.id, private.conversation_id
    gone = site.work(deleted_at=site.clock.now()).id
    unknown = f"{foreign[:-1]}{'0' if foreign[-1] != '0' else '1'}"
    addresses = [
        f"/chat/{work}{rest}"
        for work in (foreign, talk, gone, unknown, "x", "%00", "..%2f")
        for rest in ("", "/files/a.txt", "/files/%00")
    ]
    with site.browser(**HTML) as browser:
        answers = [
            browser.get(path) for path in [*addresses, "/nowhere", "/chat/x/y", "/login/a/b"]
        ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1


def test_without_a_session_nothing_is_shown(site: Site) -> None:
    mine = site.work(title="Private")
    site.file(mine, "a.txt", "a.txt")
    addresses = [
        "/dashboard",
        "/dashboard/mail",
        f"/chat/{mine.id}",
        f"/chat/{mine.id}/files/a.txt",
        "/chat/wrk_00000000000000000000000000000000",
    ]
    for secret in (None, "", "x" * 43, "é\ud800"):
        cookies = {"Cookie": f"agentpost_session={secret}".encode("utf-8", "replace")}
        with site.stranger(headers=cookies if secret is not None else {}) as browser:
            answers = [browser.get(path) for path in addresses]
        assert [answer.status_code for answer in answers] == [401] * 5
        # It leads back to where somebody wanted to go, and tells nothing else.
        assert len({WANTED.sub("", answer.text) for answer in answers}) == 1
        assert "agentpost login-link" in answers[0].text


def test_home_is_the_dashboard(stranger: httpx2.Client) -> None:
    answer = stranger.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")


def test_programs_get_the_error_shape(browser: httpx2.Client) -> None:
    plain = browser.get("/nowhere", headers={"Accept": "*/*"})
    api = [browser.get(path, headers=HTML) for path in ("/v1/nowhere", "/v1", "/v1/work/x")]
    posted = browser.post("/nowhere", headers=HTML)
    assert plain.json()["error"] == posted.json()["error"] == "not_found"
    assert [answer.json()["error"] for answer in api] == ["not_found", "not_found", "unauthorized"]


def test_a_wrong_method_is_reported(browser: httpx2.Client) -> None:
    answer = browser.post("/dashboard")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert "POST is not supported" in answer.text


@pytest.mark.parametrize("signed_in", [True, False])
def test_every_answer_is_guarded(site: Site, signed_in: bool) -> None:
    work = site.work()
    site.file(work, "a.txt", "a.txt")
    paths = ["/", "/dashboard", "/dashboard/mail", "/sessions", "/nowhere", "/login/x"]
    paths += [f"/chat/{work.id}", f"/chat/{work.id}/files/a.txt"]
    with site.browser(**HTML) if signed_in else site.stranger(headers=HTML) as browser:
        answers = {path: browser.get(path).headers for path in paths}
    for path, headers in answers.items():
        policy = headers["content-security-policy"].split("; ")
        assert set(policy) >= {
            *("default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"),
            *("script-src 'self'", "style-src 'self'"),
        }, path
        assert not [part for part in policy if "unsafe" in part or "*" in part], path
        assert headers["request-id"].startswith("req_"), path
        others = ("cache-control", "x-content-type-options", "referrer-policy")
        assert [headers[name] for name in others] == ["no-store", "nosniff", "same-origin"], path


def test_a_page_whose_store_is_away_says_when_to_come_back(
    browser: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(overview, "overview", away)
    answer = browser.get("/dashboard")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["request-id"] in answer.text
    assert "the disk is full" not in answer.text
