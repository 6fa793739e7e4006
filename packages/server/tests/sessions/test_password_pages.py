"""Signing in with a password: sessions, throttling, no oracle, links for a password, CSRF."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress

import httpx2
import pytest

from agentpost.audit import actions as audit
from agentpost.domain.errors import RateLimited
from agentpost.ratelimit.base import Rule
from agentpost.ratelimit.memory import MemoryLimiter
from agentpost.retention import actions as retention
from agentpost.sessions import actions as sessions, throttle
from agentpost.sessions.actions import Visitor
from agentpost.users import rows as user_rows
from agentpost.users.records import UserRecord
from agentpost.users.role_rules import Role
from agentpost.web.page import Page
from agentpost.web.routes import PAGES
from tests.sessions.test_login_pages import COOKIE, FOREIGN, cookie, own_headers
from tests.web.site import Site, open_site

PASSWORD = "correct horse battery"
WRONG = "The e-mail address or the password is wrong."
SMTP = "smtp://127.0.0.1:9?from=agentpost@example.com"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """For tests that make their own users."""
    with open_site(tmp_path_factory.mktemp("site"), smtp_url=SMTP) as opened:
        yield opened


@pytest.fixture
def site(shared: Site) -> Site:
    """Whatever was counted before has been forgotten."""
    shared.clock.advance(3_600)
    return shared


@pytest.fixture
def mia(site: Site, request: pytest.FixtureRequest) -> UserRecord:
    """A member with a password."""
    name = request.node.name.partition("[")[0]
    found = user_rows.by_email
    email = f"{name}@example.com"
    known = site.write(lambda tx: found(tx, email))
    return known or site.user(email, Role.MEMBER, PASSWORD)


def log_in(browser: httpx2.Client, email: str, password: str, **more: str) -> httpx2.Response:
    return browser.post("/login", data={"email": email, "password": password, **more})


def link_of(page: httpx2.Response) -> str:
    found = re.search(r"/password/[\w-]{43}", page.text)
    assert found is not None
    return found[0]


def test_a_password_signs_in(stranger: httpx2.Client, mia: UserRecord) -> None:
    assert stranger.get("/login").status_code == 200
    answer = log_in(stranger, f" {mia.email.upper()} ", PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")
    assert mia.email in stranger.get("/profile").text
    assert stranger.get("/login").headers["location"] == "/dashboard"


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("/dashboard/keys?note=revoked", "/dashboard/keys?note=revoked"),
        ("", "/dashboard"),
        ("https://evil.example/x", "/dashboard"),
        ("//evil.example/x", "/dashboard"),
        ("/\\evil.example", "/dashboard"),
        ("\\\\evil.example", "/dashboard"),
        ("/\t/evil.example", "/dashboard"),
        ("javascript:alert(1)", "/dashboard"),
        ("/chat\r\nSet-Cookie: a=b", "/dashboard"),
        ("///evil.example/x", "/evil.example/x"),
        ("//[", "/dashboard"),
    ],
)
def test_after_signing_in_one_is_where_one_wanted(
    stranger: httpx2.Client, mia: UserRecord, wanted: str, place: str
) -> None:
    answer = log_in(stranger, mia.email, PASSWORD, next=wanted)
    assert answer.headers["location"] == place
    assert "a=b" not in answer.headers.get("set-cookie", "")


def test_a_page_that_asks_for_it_shows_the_form_and_leads_back(stranger: httpx2.Client) -> None:
    page = stranger.get("/dashboard/requests?status=404")
    assert page.status_code == 401
    assert 'name="next" value="/dashboard/requests?status=404"' in page.text


def test_whether_there_is_such_a_user_cannot_be_told(
    site: Site, stranger: httpx2.Client, mia: UserRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same text, status and headers, and the same hashing, for everybody who fails."""
    invited = site.user("invited@example.com", Role.MEMBER)
    hashed: list[str] = []
    hasher = site.ctx.passwords
    verify = hasher._check

    def counted(kept: str | None, password: str) -> object:
        hashed.append(password)
        return verify(kept, password)

    monkeypatch.setattr(hasher, "_check", counted)
    answers = []
    for email in (mia.email, "nobody@example.com", invited.email, "no address"):
        answer = log_in(stranger, email, "wrong password")
        shown = answer.text.replace(email, "X")
        headers = {k: v for k, v in answer.headers.items() if k not in ("date", "request-id")}
        headers.pop("content-length")
        answers.append((answer.status_code, shown, str(headers)))
        assert WRONG in answer.text
        assert "wrong password" not in answer.text
        assert email in answer.text
    assert len(set(answers)) == 1
    assert answers[0][0] == 422
    assert len(hashed) == 4


def test_the_audit_log_has_the_sign_ins_that_failed(
    site: Site, stranger: httpx2.Client, mia: UserRecord
) -> None:
    link = f"/login/{'x' * 43}"
    tries = [
        ("/login", mia.email, "wrong password", "failed"),
        ("/login", "nobody@example.com", PASSWORD, "failed"),
        (link, "", "", "failed"),
        ("/login", mia.email, PASSWORD, "done"),
    ]
    for path, email, password, _ in tries:
        stranger.post(path, data={"email": email, "password": password})
        site.clock.advance(1)
    log, _ = asyncio.run(audit.page(site.ctx, action="sign-in", limit=len(tries)))
    lines = [(each.target, each.outcome) for each in log]
    assert lines == [(email, outcome) for _, email, _, outcome in reversed(tries)]
    means = [json.loads(each.detail_json).get("with") for each in log]
    assert means == [None, "link", "password", "password"]
    assert "wrong password" not in str(log)


def test_passwords_are_exact(site: Site, stranger: httpx2.Client, mia: UserRecord) -> None:
    """Spaces count; what looks the same on another keyboard is the same."""
    spaced = site.user("spaced@example.com", Role.MEMBER, "  café au lait ")
    assert log_in(stranger, spaced.email, "café au lait").status_code == 422
    assert log_in(stranger, spaced.email, "  cafe\u0301 au lait ").status_code == 303
    assert log_in(stranger, mia.email, PASSWORD + "\0" * 2_000).status_code == 422


def test_signing_in_ends_the_session_that_was_there(site: Site, mia: UserRecord) -> None:
    """Nobody plants a session: the browser gets another one, and the one before is over."""
    with site.browser() as browser:
        planted = browser.cookies[COOKIE]
        answer = browser.post("/login", data={"email": mia.email, "password": PASSWORD})
        fresh = cookie(answer)["value"]
    assert fresh != planted
    with site.stranger(cookies={COOKIE: planted}) as attacker:
        assert attacker.get("/dashboard").status_code == 401
    with site.stranger(cookies={COOKIE: "chosen-by-somebody-else"}) as browser:
        answer = browser.post("/login", data={"email": mia.email, "password": PASSWORD})
    assert cookie(answer)["value"] != "chosen-by-somebody-else"
    with site.stranger(cookies={COOKIE: "chosen-by-somebody-else"}) as attacker:
        assert attacker.get("/dashboard").status_code == 401


def test_too_many_tries_for_one_address(
    site: Site, stranger: httpx2.Client, mia: UserRecord
) -> None:
    """Also for one that nobody has, also with the right password, and only for a while."""
    for email in (mia.email, "nobody-at-all@example.com"):
        for _ in range(throttle.TRIES_PER_EMAIL):
            assert log_in(stranger, email, "wrong password").status_code == 422
        refused = log_in(stranger, email, PASSWORD)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "900"
        assert "Try again in 15 minutes." in refused.text
    site.clock.advance(899)
    assert log_in(stranger, mia.email, PASSWORD).status_code == 429
    site.clock.advance(1)
    for _ in range(throttle.TRIES_PER_EMAIL + 1):  # what succeeds is not counted
        assert log_in(stranger, mia.email, PASSWORD).status_code == 303


async def test_too_many_tries_from_one_place(site: Site) -> None:
    """Each with another address: a /48 of IPv6 is one place, another one is not. The place is slow
    then, not shut."""
    ctx = site.ctx
    for n in range(throttle.TRIES_PER_ADDRESS + 1):
        await throttle.count_try(ctx, f"2001:db8:0:{n:x}::1", f"{n}@example.com")
    with pytest.raises(RateLimited, match="Try again in a few seconds"):
        await throttle.count_try(ctx, "2001:db8:0:ffff::1", "other@example.com")
    await throttle.count_try(ctx, "2001:db8:1::1", "other@example.com")
    site.clock.advance(10)
    await throttle.count_try(ctx, "2001:db8:0:ffff::1", "other@example.com")


def test_strangers_shut_nobody_out(
    site: Site, mia: UserRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a proxy that is not trusted everybody has one address."""
    new = site.user("new-here@example.com", Role.MEMBER, PASSWORD)
    everybody = (Rule("tries", throttle.TRIES_PER_ADDRESS, throttle._SPAN), *throttle._TRY[0][1:])
    monkeypatch.setattr(throttle, "_TRY", (everybody, *throttle._TRY[1:]))
    with site.stranger() as known, site.stranger() as stranger:
        assert log_in(known, mia.email, PASSWORD).status_code == 303
        known.get("/dashboard")
        known.post("/logout")
        codes = []
        own, shared = throttle.TRIES_PER_EMAIL, throttle.TRIES_PER_ADDRESS
        for n in range(own + shared + 2):
            email = mia.email if n < own else f"{n}@example.com"
            forwarded = {"X-Forwarded-For": f"203.0.113.{n}"}
            form = {"email": email, "password": "wrong password"}
            codes.append(stranger.post("/login", data=form, headers=forwarded).status_code)
        assert codes == [422] * (own + shared + 1) + [429]
        refused = log_in(stranger, new.email, PASSWORD)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
        assert log_in(stranger, mia.email, PASSWORD).status_code == 429
        assert log_in(known, mia.email, PASSWORD).status_code == 303
        stranger.cookies.set("agentpost_device", "enc1:x")
        site.clock.advance(10)
        assert log_in(stranger, new.email, PASSWORD).status_code == 303
        assert "trusted_proxies" not in known.get("/password").text
    with site.stranger() as direct:
        assert "trusted_proxies" not in direct.get("/login").text


async def test_an_address_is_known_after_the_session_has_ended(
    site: Site, mia: UserRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For 180 days, unless the session was ended by somebody else or with a new password."""
    ctx, address = site.ctx, "192.0.2.7"
    one = (Rule("tries", 1, throttle._SPAN),)
    monkeypatch.setattr(throttle, "_TRY", (one, *throttle._TRY[1:]))

    async def sign_in() -> str:
        return await ctx.db.write(lambda tx: sessions.begin(tx, ctx, mia, Visitor(address)))

    async def is_known(place: str) -> bool:
        with suppress(RateLimited):  # others use up what is shared
            await throttle.count_try(ctx, "203.0.113.1", "other@example.com")
        try:
            await throttle.count_try(ctx, place, mia.email)
        except RateLimited:
            return False
        return True

    await sessions.log_out(ctx, await sign_in())
    assert (await is_known(address), await is_known("192.0.2.8")) == (True, False)
    for days, expected in ((179, True), (2, False)):
        site.clock.advance(days * 86_400)
        await retention.rest(ctx)
        assert await is_known(address) is expected
    await sign_in()
    assert await is_known(address)
    assert await sessions.end_all(ctx, mia.email) == 1
    assert not await is_known(address)


async def test_what_is_remembered_of_tries_is_bounded(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = (Rule("tries", 20, throttle._SPAN),)
    monkeypatch.setattr(throttle, "_TRY", (few, *throttle._TRY[1:]))
    limiter = site.ctx.limiter
    assert isinstance(limiter, MemoryLimiter)
    before = len(limiter)
    for n in range(100):
        with suppress(RateLimited):
            await throttle.count_try(site.ctx, f"10.0.{n}.1", f"{n}@many.example")
    assert len(limiter) - before <= 41


def test_a_forgotten_password_is_the_same_for_all(
    site: Site, stranger: httpx2.Client, mia: UserRecord
) -> None:
    answers = []
    for email in (mia.email, "nobody-here@example.com"):
        answer = stranger.post("/password", data={"email": email})
        answers.append((answer.status_code, answer.text.replace(email, "X")))
        for _ in range(throttle.MAILS_PER_EMAIL - 1):
            assert stranger.post("/password", data={"email": email}).status_code == 200
        refused = stranger.post("/password", data={"email": email})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "3600")
    assert len(set(answers)) == 1
    assert answers[0][0] == 200
    assert stranger.post("/password", data={"email": "no address"}).status_code == 422
    kept = site.write(lambda tx: tx.all("SELECT * FROM user_mails"))
    assert len([row for row in kept if "nobody-here@example.com" in row]) == 3
    assert site.write(lambda tx: tx.all("SELECT * FROM login_tokens")) == []


def test_a_link_sets_a_password_once(site: Site) -> None:
    user = site.user("new@example.com", Role.MEMBER)
    path = site.password_path(user.id)
    kept = site.write(lambda tx: str(tx.all("SELECT * FROM login_tokens")))
    assert path.rpartition("/")[2] not in kept
    with site.stranger() as browser:
        for _ in range(2):  # looking spends nothing
            assert "new@example.com" in browser.get(path).text
        assert browser.post(path.replace("/password/", "/login/")).status_code == 403
        short = browser.post(path, data={"password": "short"})
        assert (short.status_code, "at least 10" in short.text) == (422, True)
        answer = browser.post(path, data={"password": PASSWORD})
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")
        assert browser.get("/dashboard").status_code == 200
    with site.stranger() as browser:
        assert browser.get(path).status_code == 403
        assert browser.post(path, data={"password": PASSWORD}).status_code == 403
        assert log_in(browser, user.email, PASSWORD).status_code == 303


def test_a_link_ends_and_a_newer_one_ends_it(site: Site, stranger: httpx2.Client) -> None:
    user = site.user("slow@example.com", Role.MEMBER)
    first, second = site.password_path(user.id), site.password_path(user.id)
    assert [stranger.get(path).status_code for path in (first, second)] == [403, 200]
    site.clock.advance(3 * 86_400)
    assert stranger.post(second, data={"password": PASSWORD}).status_code == 403


def test_a_login_link_sets_no_password(site: Site, stranger: httpx2.Client) -> None:
    assert stranger.get(f"/password/{site.token()}").status_code == 403


def test_changing_the_password_ends_the_other_sessions(site: Site, mia: UserRecord) -> None:
    form = {"present": PASSWORD, "password": "another password"}
    with site.stranger() as here, site.stranger() as there:
        for browser in (here, there):
            assert log_in(browser, mia.email, PASSWORD).status_code == 303
        wrong = here.post("/profile", data={**form, "present": "not this one"})
        assert (wrong.status_code, "not your present password" in wrong.text) == (422, True)
        assert here.post("/profile", data={**form, "password": "short"}).status_code == 422
        assert there.get("/profile").status_code == 200
        answer = here.post("/profile", data=form)
        assert answer.headers["location"] == "/profile?note=changed"
        assert here.get("/profile").status_code == 200
        assert there.get("/profile").status_code == 401
        assert log_in(there, mia.email, PASSWORD).status_code == 422
        assert log_in(there, mia.email, "another password").status_code == 303


def test_who_has_no_password_chooses_one_soon_after_signing_in(site: Site) -> None:
    first, late = site.user("a@example.com", Role.MEMBER), site.user("b@example.com", Role.MEMBER)
    with site.browser(first.id) as browser:
        assert "Current password" not in browser.get("/profile").text
        assert browser.post("/profile", data={"password": PASSWORD}).status_code == 303
    with site.browser(late.id) as browser:
        site.clock.advance(16 * 60)
        refused = browser.post("/profile", data={"password": PASSWORD})
        assert (refused.status_code, "Sign in again first" in refused.text) == (422, True)


def test_sessions_are_ended_one_by_one(site: Site, mia: UserRecord) -> None:
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    with site.stranger() as here, site.stranger(headers={"User-Agent": agent}) as there:
        for browser in (here, there):
            log_in(browser, mia.email, PASSWORD)
        page = here.get("/sessions").text
        assert "Firefox on Linux" in page
        (path,) = re.findall(r"/sessions/\w+/end", page)  # none for this one
        with site.browser() as ann:  # another user of the account
            assert ann.post(path).status_code == 404
        assert here.post(path).headers["location"] == "/sessions?note=ended"
        assert there.get("/dashboard").status_code == 401
        assert here.post(path).status_code == 404
        log_in(there, mia.email, PASSWORD)
        here.post("/sessions")
        assert [each.get("/dashboard").status_code for each in (here, there)] == [401, 401]


@pytest.mark.parametrize("end", ["role", "remove"])
def test_a_session_ends_with_the_role_and_with_the_user(
    site: Site, stranger: httpx2.Client, end: str
) -> None:
    user = site.user(f"{end}@example.com", Role.MEMBER, PASSWORD)
    link = site.password_path(user.id)
    with site.browser() as ann:
        log_in(stranger, user.email, PASSWORD)
        answer = ann.post(f"/dashboard/users/{user.id}/{end}", data={"role": "owner"})
        assert answer.headers["location"] == "/dashboard/users?note=done"
        assert stranger.get("/dashboard").status_code == 401
        assert stranger.get(link).status_code == 403
        again = log_in(stranger, user.email, PASSWORD)
        assert again.status_code == (303 if end == "role" else 422)


FORMS = sorted(each.path for each in PAGES if each.post is not None)
FILLED = re.compile(r"\{\w+(?::path)?\}")


@pytest.mark.parametrize("path", FORMS)
def test_no_form_is_taken_from_another_site(site: Site, path: str) -> None:
    """Whoever is signed in, and whatever the form does."""
    address = FILLED.sub("x", path)
    page = next(each for each in PAGES if each.path == path)
    with site.browser() if isinstance(page, Page) else site.stranger() as browser:
        for headers in FOREIGN:
            answer = browser.post(
                address, data={"email": "a@b.c"}, headers=own_headers(site, headers)
            )
            assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
            assert "sent from another site" in answer.text
