"""The operator's pages: who sees them, what they show, and what they change."""

import asyncio
import json
import re
from collections.abc import Iterator

import httpx2
import pytest

from agentpost.accounts import actions as accounts, rows as account_rows
from agentpost.audit import actions as audit
from agentpost.db import meta
from agentpost.jobs import rows as job_rows
from agentpost.jobs.rules import JobState
from agentpost.limits import allowances
from agentpost.nodes import rows as node_rows
from agentpost.operations import doctor, health_state, server_overview
from agentpost.operations.doctor import Finding
from agentpost.users import actions as users
from agentpost.users.role_rules import Role
from agentpost.webhooks import endpoints
from tests.web.site import Site

PATH = "/dashboard/operator"


@pytest.fixture
def operator(site: Site) -> Iterator[httpx2.Client]:
    """The browser of somebody who operates the server."""
    made = asyncio.run(accounts.create(site.ctx, accounts.DEFAULT_EMAIL, "Owner"))
    asyncio.run(users.set_role(site.ctx, made.email, Role.OPERATOR))
    with site.browser(made.id) as browser:
        yield browser


def credits_of(site: Site) -> float:
    return asyncio.run(accounts.get(site.ctx, site.ann)).balance / 1_000_000


@pytest.mark.parametrize("path", ["", "/doctor", "/audit", "/accounts/{}"])
def test_there_is_no_such_page_for_others(site: Site, browser: httpx2.Client, path: str) -> None:
    refused = browser.get(PATH + path.format(site.ann), headers={"Accept": "text/html"})
    unknown = browser.get("/dashboard/nothing", headers={"Accept": "text/html"})
    assert PATH not in browser.get("/dashboard").text
    assert refused.status_code == unknown.status_code == 404
    assert refused.text == unknown.text


def test_an_operator_sees_every_account_and_what_is_open(
    site: Site, operator: httpx2.Client
) -> None:
    site.job(site.work(), JobState.RUNNING)
    site.message("m", turn_state="waiting", status="processing")
    site.write(lambda tx: node_rows.beat(tx, site.ctx.node, site.clock.now()))
    site.write(lambda tx: node_rows.beat(tx, "node_other", site.clock.now()))
    site.ctx.silent = lambda: {"node_other": 2_500_000}
    page = operator.get(PATH).text
    assert f'href="{PATH}" aria-current="page"' in page
    for text in ("ann@example.com", "12.5 credits", "1 of 5 jobs running", "owner@localhost"):
        assert text in page
    for text in ("online", "silent for 2 s", "1 turn or job has no node to run on"):
        assert text in page
    found = asyncio.run(server_overview.server(site.ctx))
    assert (found.jobs, found.open["turns_waiting"].number, found.unowned) == (1, 1, 1)


def test_what_does_not_work_is_named_with_its_cause(site: Site, operator: httpx2.Client) -> None:
    site.job(site.work(), JobState.RUNNING)
    [(job_id, _)] = site.write(job_rows.executing_anywhere)
    node = site.ctx.node
    site.write(lambda tx: tx.execute("UPDATE jobs SET node = ?", (node,)))
    assert "Current problems" not in operator.get(PATH).text
    site.ctx.health.note_failure(health_state.SPACE, "little is free")
    report = f'{{"{job_id}": "it waits"}}'
    site.write(lambda tx: meta.put(tx, f"missing:{node}", report))
    page = operator.get(PATH).text
    assert f"{job_id}: it waits" in page
    assert "less than free_space_min_bytes is free" in page


@pytest.mark.parametrize(("text", "fits"), [("ANN@", True), ("bob", False), ("a%n", False)])
def test_accounts_are_searched(site: Site, operator: httpx2.Client, text: str, fits: bool) -> None:
    page = operator.get(PATH, params={"q": text}).text
    assert ("ann@example.com" in page) == fits
    assert ("No results" in page) == (not fits)


def test_pages_lead_to_older_accounts(
    site: Site, operator: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_overview, "_ACCOUNTS", 1)
    first = asyncio.run(server_overview.server(site.ctx))
    second = asyncio.run(server_overview.server(site.ctx, before=first.more))
    shown = [line.account.email for page in (first, second) for line in page.accounts]
    assert sorted(shown) == ["ann@example.com", "owner@localhost"]
    assert second.more is None
    assert f"before={first.more}" in operator.get(PATH).text


@pytest.mark.parametrize(
    ("amount", "balance", "said"),
    [
        ("100", 112.5, "note=added"),
        ("-2.5", 10, "note=taken"),
        ("-13", 12.5, "Only 12.5 credits are available"),
        ("0", 12.5, "must be more than zero"),
        ("nan", 12.5, "Credits must be"),
        ("many", 12.5, "Enter a number"),
        ("", 12.5, "Enter a number"),
    ],
)
def test_credits_are_added_and_taken_back(
    site: Site, operator: httpx2.Client, amount: str, balance: float, said: str
) -> None:
    answer = operator.post(f"{PATH}/accounts/{site.ann}/credits", data={"amount": amount})
    assert credits_of(site) == balance
    if answer.status_code == 303:
        assert said in answer.headers["location"]
        page = operator.get(answer.headers["location"]).text
        assert 'role="status"' in page
        assert "added by owner@localhost" in page
    else:
        assert answer.status_code == 422
        assert said in answer.text


def test_a_note_has_an_end(site: Site, operator: httpx2.Client) -> None:
    form = {"amount": "1", "note": "n" * 201}
    answer = operator.post(f"{PATH}/accounts/{site.ann}/credits", data=form)
    assert "A note has at most 200 characters." in answer.text
    assert credits_of(site) == 12.5


def test_limits_are_set_and_given_up(site: Site, operator: httpx2.Client) -> None:
    path = f"{PATH}/accounts/{site.ann}"
    operator.post(f"{path}/limits", data={"running_jobs": "17", "stored_bytes": "0"})
    found, own, _ = asyncio.run(allowances.show(site.ctx, site.ann))
    assert (found.running_jobs, sorted(own)) == (17, ["running_jobs", "stored_bytes"])
    assert 'value="17"' in operator.get(path).text
    for wrong in ("0", "-1", "many", "9" * 16):
        answer = operator.post(f"{path}/limits", data={"running_jobs": wrong})
        assert answer.status_code == 422
        assert "a whole number greater than zero" in answer.text
        assert f'value="{wrong}"' in answer.text
    for wrong in ("2", "yes"):
        answer = operator.post(f"{path}/limits", data={"conversation_required": wrong})
        assert answer.status_code == 422
        assert "Enter 0 or 1, or leave the field empty." in answer.text
        assert f'value="{wrong}"' in answer.text
    assert asyncio.run(allowances.show(site.ctx, site.ann))[0].running_jobs == 17
    operator.post(f"{path}/limits", data={"running_jobs": ""})
    assert asyncio.run(allowances.show(site.ctx, site.ann))[1] == frozenset()


def test_an_account_is_made(site: Site, stranger: httpx2.Client, operator: httpx2.Client) -> None:
    form = {"email": "zoe@example.com", "name": "Zoë", "credits": "7.5"}
    made = operator.post(PATH, data=form)
    assert made.status_code == 200
    assert "7.5" in made.text
    (link,) = re.findall(r"(/password/[\w-]+)<", made.text)
    chosen = stranger.post(
        link, data={"password": "correct horse battery", "again": "correct horse battery"}
    )
    assert chosen.status_code == 303
    assert "Overview" in stranger.get("/dashboard").text
    for wrong in ({"email": "zoe@example.com"}, {"email": "no"}, {**form, "credits": "many"}):
        again = operator.post(PATH, data=wrong)
        assert again.status_code == 422
        assert f'value="{wrong["email"]}"' in again.text
    assert len(site.write(account_rows.all_)) == 3


def test_fees_are_due_and_paid(site: Site, operator: httpx2.Client) -> None:
    path = f"{PATH}/accounts/{site.ann}"
    operator.post(f"{path}/fees", data={"to": "due"})
    assert "Hosting fees are due" in operator.get(path).text
    assert "fees due" in operator.get(PATH).text
    operator.post(f"{path}/fees", data={"to": "paid"})
    assert "Hosting fees are due" not in operator.get(path).text


def test_maintenance_is_started_and_ended(site: Site, operator: httpx2.Client) -> None:
    key = asyncio.run(accounts.create_key(site.ctx, site.ann, "k")).secret
    program = {"Authorization": f"Bearer {key}"}
    operator.post(f"{PATH}/maintenance", data={"to": "on"})
    assert "responds with 503" in operator.get(PATH).text
    assert operator.get("/v1/me", headers=program).status_code == 503
    operator.post(f"{PATH}/maintenance", data={"to": "off"})
    assert "responds with 503" not in operator.get(PATH).text
    assert operator.get("/v1/me", headers=program).status_code == 200


def test_every_page_says_that_there_is_maintenance(site: Site, browser: httpx2.Client) -> None:
    assert "Maintenance</p>" not in browser.get("/dashboard").text
    site.ctx.unavailable = True
    assert "Maintenance</p>" in browser.get("/dashboard").text


def test_the_doctor_says_what_it_finds(
    site: Site, operator: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "No problems found" in operator.get(f"{PATH}/doctor").text
    url = "https://shop.example.com/secret"
    endpoint = asyncio.run(endpoints.create(site.ctx, site.ann, url, None, None))
    failing = "UPDATE endpoints SET failing_since = ? WHERE id = ?"
    site.write(lambda tx: tx.execute(failing, (site.clock.now(), endpoint.id)))
    page = operator.get(f"{PATH}/doctor").text
    assert "1 webhook endpoint failing" in page
    assert endpoint.id in page
    assert "No problems found" not in page
    assert "secret" not in page

    async def examine(_: object, *, full: bool) -> list[Finding]:
        return [Finding("exe_1<b>", "running", "no node has claimed <it>: `db <repair>`")]

    monkeypatch.setattr(doctor, "examine", examine)
    page = operator.get(f"{PATH}/doctor").text
    assert "No node has claimed &lt;it&gt;: <code>db &lt;repair&gt;</code>" in page
    assert "exe_1&lt;b&gt;" in page


@pytest.mark.parametrize("account", ["acc_1", f"acc_{'0' * 32}", "ann@example.com"])
def test_an_unknown_account_is_not_found(operator: httpx2.Client, account: str) -> None:
    assert operator.get(f"{PATH}/accounts/{account}").status_code == 404
    for what in ("credits", "fees", "limits"):
        form = {"amount": "1", "to": "due"}
        answer = operator.post(f"{PATH}/accounts/{account}/{what}", data=form)
        assert answer.status_code == 404


def test_an_operator_sees_and_invites_the_users_of_any_account(
    site: Site, operator: httpx2.Client
) -> None:
    place = f"/dashboard/users?account={site.ann}"
    assert place in operator.get(f"{PATH}/accounts/{site.ann}").text
    invited = operator.post(place, data={"email": "new@example.com", "role": "member"})
    assert "/password/" in invited.text
    assert "new@example.com" in operator.get(place).text
    assert "new@example.com" not in operator.get("/dashboard/users").text
    with site.browser() as ann:  # the parameter is the operator's alone
        other = "acc_" + "0" * 32
        assert "ann@example.com" in ann.get(f"/dashboard/users?account={other}").text


def test_the_audit_log_tells_who_did_what(site: Site, operator: httpx2.Client) -> None:
    def post(path: str, **form: object) -> httpx2.Response:
        site.clock.advance(1)
        return operator.post(path, data=form)

    with site.browser() as browser:  # refused, so nothing was done
        browser.post(f"{PATH}/accounts/{site.ann}/credits", data={"amount": "5"})
    post(f"{PATH}/accounts/{site.ann}/credits", amount="5")
    post(f"{PATH}/maintenance", to="off")
    post("/dashboard/keys", name="ci", expires="30", scopes=["send", "read_all"],
         networks="10.0.0.1")  # fmt: skip
    user = {"email": "new.one@example.com", "role": "member"}
    invited = post(f"/dashboard/users?account={site.ann}", **user)
    post(f"/dashboard/users?account={site.ann}", **user)  # there is one by now
    post("/dashboard/webhooks", url="https://hooks.example.com/path-token", events=["job.failed"])
    site.clock.advance(1)
    page = operator.get(f"{PATH}/audit?action=credits").text
    operator.post("/logout")
    found, _ = asyncio.run(audit.page(site.ctx))
    assert {(each.who, each.via) for each in found} >= {(accounts.DEFAULT_EMAIL, "web")}
    [endpoint] = [each.target for each in found if each.action == "webhooks create"]
    assert endpoint.startswith("whe_")
    recorded = [
        (each.action, each.target, each.outcome) for each in found if each.who != "ann@example.com"
    ]
    assert recorded == [
        ("sign-out", "", "done"),
        ("webhooks create", endpoint, "done"),
        ("users create", "new.one@example.com", "failed"),
        ("users create", "new.one@example.com", "done"),
        ("keys create", accounts.DEFAULT_EMAIL, "done"),
        ("maintenance", "", "done"),
        ("credits add", site.ann, "done"),
        ("sign-in", accounts.DEFAULT_EMAIL, "done"),
    ]
    details = {each.action: json.loads(each.detail_json) for each in found}
    assert details["credits add"]["amount"] == 5
    assert details["keys create"]["scopes"] == "send,read_all"
    assert details["keys create"]["allow_ips"] == ["10.0.0.1/32"]
    assert details["users create"] == {"account_id": site.ann, "role": "member"}
    assert details["webhooks create"]["url"] == "https://hooks.example.com/…"
    assert details["webhooks create"]["events"] == ["job.failed"]
    assert "/password/" in invited.text
    link = invited.text.split("/password/")[1][:20]
    assert not [each for each in found if link in f"{each.target}{each.detail_json}"]
    assert site.ann in page
    assert "amount" in page
    assert "credits add: done" in page
    assert "maintenance: done" not in page


def test_a_disabled_account_is_signed_out_until_it_is_enabled(
    site: Site, browser: httpx2.Client
) -> None:
    for disabled, status in ((True, 401), (False, 200)):
        asyncio.run(accounts.set_disabled(site.ctx, site.ann, disabled=disabled))
        assert browser.get("/dashboard").status_code == status
