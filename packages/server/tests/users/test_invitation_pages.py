"""An invitation gives nothing before the person with the address accepts it."""

import asyncio
import re
from collections.abc import Iterator

import httpx2
import pytest

from agentpost.accounts import actions as accounts
from agentpost.audit import actions as audit
from agentpost.domain.errors import Refusal
from agentpost.sessions import actions as sessions, password_links
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.records import UserRecord
from agentpost.users.role_rules import Role
from tests.sessions.provider import Provider, provided, settings_of
from tests.sessions.test_oidc import arrive, person
from tests.sessions.test_password_pages import PASSWORD, log_in
from tests.web.site import Site, open_site


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with provided(1_800_000_000) as running:
        yield running


@pytest.fixture(scope="module")
def site(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("site"), **settings_of(provider)) as opened:
        provider.now = opened.clock.now() // 1_000_000
        yield opened


@pytest.fixture(scope="module")
def eve(site: Site) -> str:
    """An account whose owner is not to be trusted."""
    return asyncio.run(accounts.create(site.ctx, "eve@evil.example", "Evil & Co")).id


def invite(site: Site, account_id: str, email: str, role: str = "member") -> httpx2.Response:
    """By the account's own owner, on the page."""
    with site.browser(account_id) as browser:
        return browser.post("/dashboard/users", data={"email": email, "role": role})


def of_address(site: Site, email: str) -> UserRecord | None:
    return site.write(lambda tx: user_rows.by_email(tx, email))


def test_single_sign_on_asks_whose_invitation_is_accepted(
    site: Site, provider: Provider, eve: str
) -> None:
    """Several are open for one address; none is taken by signing in, and the inviter never has a
    link by which to be that person."""
    victim = "vic@home.example"
    bob = asyncio.run(accounts.create(site.ctx, "bob@good.example", "Bob's team")).id
    answers = [invite(site, each, victim) for each in (eve, bob)]
    assert [each.status_code for each in answers] == [200, 200]
    assert not any("/password/" in each.text for each in answers)
    assert all(f"agentpost users password-link {victim}" in each.text for each in answers)
    with site.browser(eve) as browser:
        (path,) = re.findall(r"/dashboard/users/usr_\w+/link", browser.get("/dashboard/users").text)
        assert "/password/" not in browser.post(path).text
    provider.person = person(victim)
    with site.stranger() as browser:
        page = arrive(browser)
        assert (page.status_code, "set-cookie" in page.headers) == (200, False)
        for text in ("Evil &amp; Co", "eve@evil.example", "Bob&#39;s team", "bob@good.example"):
            assert text in page.text
        assert browser.get("/dashboard").status_code == 401
        assert of_address(site, victim) is None
        offers = dict(re.findall(r"<h2>(.*?)</h2>.*?(/password/[\w-]{43})", page.text, re.S))
        answer = browser.post(offers["Bob&#39;s team"])
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")
        assert "Bob&#39;s team" in browser.get("/profile").text
        assert browser.post(offers["Evil &amp; Co"]).status_code == 403
    with site.stranger() as browser:
        assert arrive(browser).status_code == 303
        assert "Bob&#39;s team" in browser.get("/profile").text
    found, _ = asyncio.run(audit.page(site.ctx))
    own = sorted(each.action for each in found if each.who == victim)
    assert own == ["sign-in", "sign-in", "users accept", "users single-sign-on"]


def test_an_address_of_the_companys_domains_belongs_to_its_account(
    site: Site, provider: Provider, eve: str
) -> None:
    victim = "victim@corp.example"
    answer = invite(site, eve, victim, "owner")
    assert (answer.status_code, "belong to another account" in answer.text) == (422, True)
    with pytest.raises(ValueError, match="belong to another account"):
        asyncio.run(users.create(site.ctx, eve, victim, Role.MEMBER))
    assert invite(site, site.ann, victim, "owner").status_code == 200
    provider.person = person(victim)
    with site.stranger() as browser:
        assert arrive(browser).status_code == 303
        assert victim in browser.get("/profile").text
    user = of_address(site, victim)
    assert user is not None
    assert (user.account_id, user.role) == (site.ann, Role.OWNER)
    with site.browser(site.ann) as browser:
        assert browser.get("/dashboard/users").text.count(f"Role of {victim}") == 1


def test_the_first_single_sign_on_drops_an_earlier_password(site: Site, provider: Provider) -> None:
    """And with it the sessions and links; a later one leaves a password that was chosen since."""
    user = site.user("sam@example.com", Role.MEMBER, PASSWORD)
    link = site.password_path(user.id)
    provider.person = person(user.email)
    with site.stranger() as other, site.stranger() as browser:
        assert log_in(other, user.email, PASSWORD).status_code == 303
        assert arrive(browser).status_code == 303
        assert other.get("/profile").status_code == 401
        assert other.get(link).status_code == 403
        assert log_in(other, user.email, PASSWORD).status_code == 422
        with site.browser() as ann:  # nor does an owner of the account become them by a link
            assert "/password/" not in ann.post(f"/dashboard/users/{user.id}/link").text
        assert browser.post("/profile", data={"password": PASSWORD}).status_code == 303
        assert arrive(browser).status_code == 303
        assert log_in(other, user.email, PASSWORD).status_code == 303


def test_the_operator_hands_the_link_on_which_names_account_and_inviter(
    site: Site, stranger: httpx2.Client, eve: str
) -> None:
    """Without a mail server: by the command, or on the page for whoever operates the server."""
    invite(site, eve, "kim@home.example")
    made = asyncio.run(password_links.make(site.ctx, "kim@home.example"))
    path = site.password_path("kim@home.example")
    page = stranger.get(path)
    assert "Evil &amp; Co" in page.text
    assert "eve@evil.example" in page.text
    with pytest.raises(ValueError, match="has not accepted"):
        asyncio.run(sessions.make_link(site.ctx, made.user.id))
    assert of_address(site, "kim@home.example") is None
    assert stranger.post(path, data={"password": PASSWORD}).status_code == 303
    assert "Evil &amp; Co" in stranger.get("/profile").text
    assert log_in(stranger, "kim@home.example", PASSWORD).status_code == 303
    for each in (eve, site.ann):
        invite(site, each, "two@home.example")
    with pytest.raises(Refusal, match="several accounts"):
        asyncio.run(password_links.make(site.ctx, "two@home.example"))


def test_an_open_invitation_is_no_operator(site: Site) -> None:
    """The last operator stays, though another one is invited."""
    boss = site.user("boss@example.com", Role.OPERATOR)
    with site.browser(boss.id) as browser:
        form = {"email": "next@example.com", "role": "operator"}
        assert "/password/" in browser.post("/dashboard/users", data=form).text
        answer = browser.post(f"/dashboard/users/{boss.id}/role", data={"role": "owner"})
    assert (answer.status_code, "last operator" in answer.text) == (422, True)
