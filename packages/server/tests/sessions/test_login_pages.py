"""The link signs one browser in, once; the cookie is guarded; forms come from our own pages."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie
from pathlib import Path
from threading import Barrier

import httpx2
import pytest

from agentpost.accounts import actions as accounts
from tests.web.site import Site, open_site

COOKIE = "agentpost_session"
TRIES = 20


def cookie(response: httpx2.Response, name: str = COOKIE) -> dict[str, str]:
    """The attributes of the cookie that was set, with its value under "value"."""
    sent = response.headers.get_list("set-cookie")
    (header,) = [each for each in sent if each.startswith(f"{name}=")]
    morsel = SimpleCookie(header)[name]
    return {"value": morsel.value, **{key: str(value) for key, value in morsel.items() if value}}


def test_the_button_signs_in_and_the_link_is_spent(site: Site) -> None:
    path = f"/login/{site.token()}"
    with site.stranger() as browser:
        for _ in range(2):  # looking spends nothing
            assert browser.head(path).status_code == 200
            assert f'action="{path}"' in browser.get(path).text
        assert not browser.cookies
        answer = browser.post(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")
        assert browser.get("/dashboard").status_code == 200
    with site.stranger() as another:
        assert another.post(path).status_code == 403
        assert another.get(path).status_code == 403
        assert another.get("/dashboard").status_code == 401


def test_of_many_at_once_one_gets_in(site: Site) -> None:
    path, start = f"/login/{site.token()}", Barrier(TRIES)

    def press(_: int) -> tuple[int, bool]:
        with site.stranger() as browser:
            start.wait()
            answer = browser.post(path)
            return answer.status_code, "set-cookie" in answer.headers

    with ThreadPoolExecutor(TRIES) as pool:
        answers = Counter(pool.map(press, range(TRIES)))
    assert answers == {(303, True): 1, (403, False): TRIES - 1}


def test_the_link_ends_after_its_time(site: Site, stranger: httpx2.Client) -> None:
    early, late = f"/login/{site.token()}", f"/login/{site.token()}"
    site.clock.advance(15 * 60 - 1)
    assert stranger.post(early).status_code == 303
    site.clock.advance(1)
    assert stranger.get(late).status_code == 403
    assert stranger.post(late).status_code == 403


def test_the_session_ends_after_its_time(site: Site, browser: httpx2.Client) -> None:
    """However often it is used."""
    day = 86_400
    for _ in range(int(site.ctx.settings.session_seconds) // day - 1):
        site.clock.advance(day)
        assert browser.get("/dashboard").status_code == 200
    site.clock.advance(day)
    assert browser.get("/dashboard").status_code == 401


def test_a_session_that_is_not_used_ends(site: Site, browser: httpx2.Client) -> None:
    idle = site.ctx.settings.session_idle_seconds
    for _ in range(2):
        site.clock.advance(idle - 1)
        assert browser.get("/dashboard").status_code == 200
    site.clock.advance(idle)
    assert browser.get("/dashboard").status_code == 401


def test_the_list_of_sessions_shows_those_that_open_something(site: Site) -> None:
    with site.browser(), site.browser():  # never used again
        site.clock.advance(site.ctx.settings.session_idle_seconds)
    with site.stranger(headers={"User-Agent": "<b>Phone</b> 7"}) as phone, site.browser() as here:
        phone.post(f"/login/{site.token()}")
        page = here.get("/sessions").text
    assert page.count("last used") == 2
    assert "&lt;b&gt;Phone&lt;/b&gt; 7" in page
    assert page.count("(this one)") == 1


def test_log_out_everywhere(site: Site) -> None:
    """Of this account; links that wait to be used end, too."""
    other = asyncio.run(accounts.create(site.ctx, "bob@example.com", "Bob")).id
    waiting = f"/login/{site.token()}"
    with site.browser() as one, site.browser() as two, site.browser(other) as bob:
        answer = one.post("/sessions")
        assert (answer.status_code, cookie(answer)["value"]) == (303, "")
        assert two.get("/dashboard").status_code == 401
        assert two.post("/sessions").status_code == 401
        assert two.post(waiting).status_code == 403
        assert bob.get("/dashboard").status_code == 200


def test_the_cookie_is_guarded(site: Site, stranger: httpx2.Client) -> None:
    first = cookie(stranger.post(f"/login/{site.token()}"))
    second = cookie(stranger.post(f"/login/{site.token()}"))
    assert len(first["value"]) >= 43  # 256 bits in base64
    assert first.pop("value") != second.pop("value")
    assert first == {"path": "/", "max-age": "2592000", "httponly": "True", "samesite": "lax"}


def test_over_https_the_cookie_stays_there(tmp_path: Path) -> None:
    with open_site(tmp_path, base_url="https://agents.example") as site:
        with site.stranger() as browser:
            answer = browser.post(f"/login/{site.token()}")
        assert cookie(answer, f"__Host-{COOKIE}")["secure"] == "True"
        secret = cookie(answer, f"__Host-{COOKIE}")["value"]
        with site.stranger(cookies={f"__Host-{COOKIE}": secret}) as browser:
            assert browser.get("/dashboard").status_code == 200
        with site.stranger(cookies={COOKIE: secret}) as browser:
            assert browser.get("/dashboard").status_code == 401


def test_only_digests_are_stored(site: Site, stranger: httpx2.Client) -> None:
    token, waiting = site.token(), site.token()
    secret = cookie(stranger.post(f"/login/{token}"))["value"]
    kept = site.write(
        lambda tx: str([*tx.all("SELECT * FROM login_tokens"), *tx.all("SELECT * FROM sessions")])
    )
    assert "acc_" in kept
    assert [word for word in (token, waiting, secret) if word in kept] == []


def test_signing_out_ends_the_session_on_the_server(site: Site) -> None:
    with site.browser() as browser:
        secret = browser.cookies[COOKIE]
        answer = browser.post("/logout")
        assert answer.status_code == 303
        assert (cookie(answer)["value"], cookie(answer).get("max-age")) == ("", "0")
        assert browser.get("/logout").status_code == 405
    with site.stranger(cookies={COOKIE: secret}) as browser:
        assert browser.get("/dashboard").status_code == 401


FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "{own}"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "{own}.evil.example"},
]
OWN = [
    {"Sec-Fetch-Site": "same-origin", "Origin": "{own}"},
    {"Origin": "{own}"},
    {},
]


def own_headers(site: Site, headers: dict[str, str]) -> dict[str, str]:
    return {name: value.replace("{own}", site.url) for name, value in headers.items()}


@pytest.mark.parametrize("headers", OWN)
def test_our_own_forms_work(site: Site, stranger: httpx2.Client, headers: dict[str, str]) -> None:
    answer = stranger.post(f"/login/{site.token()}", headers=own_headers(site, headers))
    assert answer.status_code == 303
    assert stranger.post("/logout", headers=own_headers(site, headers)).status_code == 303


def test_behind_a_proxy_the_public_address_is_our_own(tmp_path: Path) -> None:
    with open_site(tmp_path, base_url="https://agents.example/app") as site:
        with site.stranger() as browser:
            path = f"/login/{site.token()}"
            assert f'action="/app{path}"' in browser.get(path).text
            answer = browser.post(path, headers={"Origin": "https://agents.example"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/app/dashboard")


def test_the_secrets_open_nothing_else(site: Site) -> None:
    token = site.token()
    with site.browser() as browser:
        secret = browser.cookies[COOKIE]
        assert browser.get("/v1/me").status_code == 401
        for word in (token, secret):
            headers = {"Authorization": f"Bearer {word}"}
            assert browser.get("/v1/me", headers=headers).status_code == 401
    with site.stranger(cookies={COOKIE: token}) as browser:
        assert browser.get("/dashboard").status_code == 401


def test_a_fault_tells_no_secret(
    site: Site, stranger: httpx2.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    """The worst case: a page breaks while it holds the token, and logs are for a terminal."""
    token = site.token()
    site.write(lambda tx: tx.execute("ALTER TABLE login_tokens RENAME TO hidden"))
    answers = [stranger.get(f"/login/{token}"), stranger.post(f"/login/{token}")]
    assert [answer.status_code for answer in answers] == [500, 500]
    reported = "".join(capfd.readouterr())
    for answer in answers:
        assert answer.headers["request-id"] in reported
        assert answer.headers["request-id"] in answer.text
    assert "no such table" in reported
    assert token not in reported
