"""Signing in at an identity provider: who comes in, who does not, and what is said."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest

from agentpost.users import rows as user_rows
from agentpost.users.role_rules import Role
from tests.sessions.provider import CLIENT, Provider, provided, query, settings_of
from tests.sessions.test_login_pages import COOKIE, cookie
from tests.web.site import Site, open_site

START = 1_800_000_000


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with provided(START) as running:
        yield running


@pytest.fixture(scope="module")
def site(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    settings = settings_of(provider, oidc_name="Example <b>ID</b>")
    with open_site(tmp_path_factory.mktemp("site"), **settings) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _as_it_was(provider: Provider, site: Site) -> None:
    site.clock.advance(3_600)
    site.ctx.provider.documents.clear()
    provider.now = site.clock.now() // 1_000_000
    provider.issuer, provider.hidden, provider.mutation = "", (), {}
    provider.person = person("ann@example.com")
    provider.asked.clear()


def person(email: str, subject: str = "", **more: Any) -> dict[str, Any]:
    return {"sub": subject or f"id of {email}", "email": email, "email_verified": True, **more}


def leave(browser: httpx2.Client, path: str = "/oidc") -> str:
    """To the provider, and back: the address here that it sends the browser to."""
    left = browser.get(path)
    assert left.status_code == 303
    back = httpx2.get(left.headers["location"])
    assert back.status_code == 302
    address = urlsplit(back.headers["location"])
    return f"{address.path}?{address.query}"


def arrive(browser: httpx2.Client, path: str = "/oidc") -> httpx2.Response:
    return browser.get(leave(browser, path))


def come_in(site: Site) -> None:
    with site.stranger() as browser:
        assert arrive(browser).status_code == 303


def failed_sign_in(site: Site) -> str:
    """The page after a sign-in that did not work; nobody is signed in then."""
    with site.stranger() as browser:
        page = arrive(browser)
        assert (page.status_code, COOKIE in page.headers.get("set-cookie", "")) == (403, False)
        assert browser.get("/dashboard").status_code == 401
    return page.text


def test_who_was_invited_comes_in(site: Site, provider: Provider) -> None:
    user = site.user("ida@example.com", Role.MEMBER)
    provider.person = person("Ida@Example.com")
    with site.stranger(headers={"User-Agent": "Firefox of Ida"}) as browser:
        assert "Sign in with Example &lt;b&gt;ID&lt;/b&gt;" in browser.get("/login").text
        answer = arrive(browser, "/oidc?next=/dashboard/keys")
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard/keys")
        assert "ida@example.com" in browser.get("/profile").text
        assert "Firefox of Ida" in browser.get("/sessions").text
    kept = site.write(lambda tx: user_rows.get(tx, user.id))
    assert kept is not None
    assert kept.oidc_subject == f"{provider.url} id of Ida@Example.com"


def test_the_session_is_new_and_the_one_before_ends(site: Site, browser: httpx2.Client) -> None:
    planted = browser.cookies[COOKIE]
    answer = arrive(browser)
    made = [each for each in answer.headers.get_list("set-cookie") if each.startswith(COOKIE)]
    assert len(made) == 1
    assert planted not in made[0]
    with site.stranger(cookies={COOKIE: planted}) as attacker:
        assert attacker.get("/dashboard").status_code == 401


def test_nobody_else_comes_in(site: Site, provider: Provider) -> None:
    provider.person = person("eve@evil.example")
    assert "Nobody has invited eve@evil.example." in failed_sign_in(site)
    provider.person = person("eve@sub.corp.example")
    assert "Nobody has invited" in failed_sign_in(site)
    with site.stranger() as browser:
        browser.get("/oidc/callback?code=x&state=y")  # the visitor's own doing
    site.clock.advance(10)
    provider.mutation = {"aud": "another client"}
    failed_sign_in(site)
    boss = site.user("boss@example.com", Role.OPERATOR)
    with site.browser(boss.id) as browser:
        page = browser.get("/dashboard/operator").text
    newest, older = (page.index(text) for text in ("its token is not valid", "Nobody has invited"))
    assert newest < older
    assert page.count("Nobody has invited") == 1, "one of those within ten seconds"
    assert site.write(lambda tx: user_rows.by_email(tx, "eve@evil.example")) is None


def test_an_address_of_the_domain_becomes_a_member(site: Site, provider: Provider) -> None:
    provider.person = person("New@corp.EXAMPLE")
    for _ in range(2):
        come_in(site)
    user = site.write(lambda tx: user_rows.by_email(tx, "new@corp.example"))
    assert user is not None
    assert (user.role, user.account_id) == (Role.MEMBER, site.ann)


NOT_VERIFIED = "has not verified your e-mail address mallory@corp.example"
NO_ADDRESS = "does not tell your e-mail address"


@pytest.mark.parametrize(
    ("email", "verified", "said"),
    [
        *(
            ("mallory@corp.example", verified, NOT_VERIFIED)
            for verified in (False, None, "false", "true", "yes", 1, 1.0, [True])
        ),
        *((email, True, NO_ADDRESS) for email in (None, "", 5, "no address", "a@b\nc")),
    ],
)
def test_an_address_has_to_be_one_and_verified(
    site: Site, provider: Provider, email: Any, verified: object, said: str
) -> None:
    """By JSON's true and nothing else."""
    provider.person = person(email, "x", email_verified=verified)
    assert said in failed_sign_in(site)


def test_the_providers_id_counts_once_somebody_came_in(
    site: Site, stranger: httpx2.Client, provider: Provider
) -> None:
    """Whoever gets an address after them is somebody else; they themselves may get another one."""
    user = site.user("first@example.com", Role.MEMBER)
    provider.person = person("first@example.com", "one")
    come_in(site)
    provider.person = person("first@example.com", "two")
    assert "first@example.com is somebody else here" in failed_sign_in(site)
    provider.person = person("renamed@example.com", "one")
    assert arrive(stranger).status_code == 303
    assert user.email in stranger.get("/profile").text


def test_claims_that_only_its_page_tells(site: Site, provider: Provider) -> None:
    provider.hidden = ("email", "email_verified")
    come_in(site)


@pytest.mark.parametrize(
    "mutation",
    [
        {"iss": "https://other.example"},
        {"aud": "another client"},
        {"aud": ["another client", CLIENT], "azp": "another client"},
        {"exp": START - 7 * 86_400},
        {"nonce": "another nonce"},
        {"nonce": None},
        {"kid": "unknown"},
        {"iat": START + 30 * 86_400},
    ],
)
def test_a_token_that_does_not_fit_opens_nothing(
    site: Site, provider: Provider, mutation: dict[str, Any]
) -> None:
    provider.mutation = mutation
    assert "does not work at the moment" in failed_sign_in(site)


def test_a_token_with_another_signature_opens_nothing(site: Site, provider: Provider) -> None:
    from joserfc.jwk import RSAKey

    own = provider.key
    come_in(site)  # the keys are known now
    provider.key = RSAKey.generate_key(2_048, {"kid": str(own.kid)})
    try:
        assert "does not work" in failed_sign_in(site)
    finally:
        provider.key = own


@pytest.mark.parametrize("kid", ["new", None])
def test_new_keys_are_fetched(site: Site, provider: Provider, kid: str | None) -> None:
    """Once, also when a new key has the id of the old one."""
    from joserfc.jwk import RSAKey

    come_in(site)
    provider.key = RSAKey.generate_key(2_048, {"kid": kid or str(provider.key.kid)})
    site.clock.advance(61)
    provider.now += 61
    come_in(site)
    assert provider.asked.count("/keys") == 2
    assert provider.asked.count("/.well-known/openid-configuration") == 1


def test_another_browser_cannot_use_the_answer(site: Site) -> None:
    """No other site signs anybody in: the answer fits the browser that asked, once."""
    with site.stranger() as attacker, site.stranger() as victim:
        address = leave(attacker)
        page = victim.get(address)
        assert (page.status_code, "begun in another browser" in page.text) == (403, True)
        victim.get("/oidc")
        assert victim.get(address).status_code == 403
        assert attacker.get(address).status_code == 303
        assert attacker.get(address).status_code == 403


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"state": ""}, "begun in another browser"),
        ({"state": "x" * 43}, "begun in another browser"),
        ({"iss": "https://other.example"}, "begun in another browser"),
        ({"error": "access_denied"}, "did not sign you in (access_denied)"),
        ({"error": "<script>"}, "did not sign you in (an error)"),
        ({"code": "wrong"}, "does not work at the moment"),
    ],
)
def test_what_comes_back_has_to_fit(
    stranger: httpx2.Client, change: dict[str, str], text: str
) -> None:
    given = {**query(leave(stranger)), **change}
    page = stranger.get(f"/oidc/callback?{urlencode(given)}")
    assert (page.status_code, text in page.text) == (403, True)


def test_a_provider_that_calls_itself_otherwise_is_refused(
    stranger: httpx2.Client, provider: Provider
) -> None:
    provider.issuer = "https://other.example"
    page = stranger.get("/oidc")
    assert (page.status_code, "does not work at the moment" in page.text) == (403, True)


def test_too_many_failures_are_refused(site: Site, stranger: httpx2.Client) -> None:
    from agentpost.sessions import throttle

    site.write(lambda tx: tx.execute("UPDATE sessions SET address = NULL"))
    for _ in range(throttle.TRIES_PER_ADDRESS):
        stranger.get("/oidc/callback?state=x")  # without a cookie: counts nothing, asks nobody
    stranger.get("/oidc")
    for _ in range(throttle.TRIES_PER_ADDRESS + 1):
        assert stranger.get("/oidc/callback?state=x").status_code == 403
    answer = stranger.get("/oidc/callback?state=x")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "10")
    with site.browser() as known:  # a device in which somebody has signed in
        known.get("/dashboard")
        assert arrive(known).status_code == 303
    come_in(site)  # at an address where somebody has signed in by now


def test_the_cookie_of_the_journey_is_guarded(stranger: httpx2.Client) -> None:
    made = cookie(stranger.get("/oidc"), "agentpost_oidc")
    assert made.pop("value")
    assert made == {"path": "/", "max-age": "900", "httponly": "True", "samesite": "lax"}


def test_without_a_provider_there_is_no_such_page(tmp_path_factory: pytest.TempPathFactory) -> None:
    with open_site(tmp_path_factory.mktemp("plain")) as site, site.stranger() as browser:
        assert [browser.get(p).status_code for p in ("/oidc", "/oidc/callback")] == [404, 404]
        assert 'href="/oidc' not in browser.get("/login").text


def test_a_provider_that_is_not_public_has_to_be_allowed(
    provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    given = {"oidc_issuer": provider.url, "oidc_client_id": CLIENT}
    with open_site(tmp_path_factory.mktemp("shut"), **given) as site, site.stranger() as browser:
        assert browser.get("/oidc").status_code == 403
    assert provider.asked == []
