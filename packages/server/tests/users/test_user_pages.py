"""The page of users: inviting, roles, and what nobody may do to somebody above them."""

import asyncio
from pathlib import Path

from agentpost.accounts import actions as accounts
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.role_rules import Role
from tests.sessions.test_password_pages import PASSWORD, link_of
from tests.web.site import Site, open_site


def test_an_operator_invites_and_hands_the_link_on(tmp_path: Path) -> None:
    """Without a mail server; the link is in that answer and nowhere else."""
    with open_site(tmp_path) as site, site.browser() as ann:
        boss = site.user("boss@example.com", Role.OPERATOR)
        operator = site.browser(boss.id)
        page = operator.post(
            "/dashboard/users", data={"email": "Zoe@Example.com", "role": "member"}
        )
        assert page.status_code == 200
        assert "content-encoding" not in page.headers
        path = link_of(page)
        assert "/password/" not in ann.get("/dashboard/users").text
        taken = ann.post("/dashboard/users", data={"email": "zoe@example.com", "role": "member"})
        assert (taken.status_code, "already" in taken.text) == (422, True)
        operator.close()
        with site.stranger() as zoe:
            zoe.post(path, data={"password": PASSWORD})
            assert "zoe@example.com" in zoe.get("/profile").text
            assert "cannot send e-mail" in zoe.get("/password").text
        (user,) = [each for each in asyncio.run(users.all_(site.ctx)) if "zoe" in each.email]
        again = link_of(ann.post(f"/dashboard/users/{user.id}/link"))
        with site.stranger() as zoe:
            assert zoe.get(again).status_code == 200


def test_an_invitation_does_not_tell_who_uses_the_server(tmp_path: Path) -> None:
    """Somebody of another account looks invited, and can be invited by nobody; an operator may
    know."""
    form = {"role": "member"}
    with open_site(tmp_path) as site:
        other = asyncio.run(accounts.create(site.ctx, "eve@example.com", "Eve")).id
        site.user("known@example.com", Role.MEMBER, account_id=other)
        boss = site.user("boss@example.com", Role.OPERATOR)
        with site.browser("usr_" + site.ann.removeprefix("acc_")) as ann:
            answers, links, lists = [], [], []
            for name in ("known", "fresh"):
                form["email"] = f"{name}@example.com"
                answers.append(ann.post("/dashboard/users", data=form))
                links.append(site.password_path(invitation_of(site, form["email"])))
                lists.append(ann.get("/dashboard/users").text.count(f"{name}@example.com"))
                assert ann.post("/dashboard/users", data=form).status_code == 422
            assert [each.status_code for each in answers] == [200, 200]
            assert lists[0] == lists[1] > 0
        with site.stranger() as stranger:
            spent = stranger.post(links[0], data={"password": PASSWORD})
            assert "set-cookie" not in spent.headers
            assert stranger.get("/dashboard").status_code == 401
            assert stranger.post(links[1], data={"password": PASSWORD}).status_code == 303
        with site.browser(boss.id) as operator:
            form["email"] = "eve@example.com"
            assert operator.post("/dashboard/users", data=form).status_code == 422


def invitation_of(site: Site, address: str) -> str:
    """The id of Ann's invitation of that address."""
    found = site.write(lambda tx: user_rows.by_email(tx, f"{address} {site.ann}"))
    assert found is not None
    return found.id


def test_nobody_gets_round_their_present_password(site: Site) -> None:
    """By a link for themselves, which an open browser would give to anybody."""
    own = "usr_" + site.ann.removeprefix("acc_")
    with site.browser(own) as ann:
        answer = ann.post(f"/dashboard/users/{own}/link")
        assert f"/users/{own}/link" not in ann.get("/dashboard/users").text
    assert (answer.status_code, "/password/" in answer.text) == (422, False)


def test_an_owner_reaches_no_operator(site: Site) -> None:
    """Neither by a role they give nor by a link that would give them the operator's place."""
    boss = site.user("boss@example.com", Role.OPERATOR)
    with site.browser("usr_" + site.ann.removeprefix("acc_")) as ann:
        raised = {"email": "x@example.com", "role": "operator"}
        assert ann.post("/dashboard/users", data=raised).status_code == 400
        for action in ("role", "link", "remove"):
            form = {"role": "member"}
            answer = ann.post(f"/dashboard/users/{boss.id}/{action}", data=form)
            assert answer.status_code in (400, 422), action
            assert "/password/" not in answer.text
    assert site.write(lambda tx: user_rows.get(tx, boss.id)) == boss


def test_the_last_owner_stays(site: Site) -> None:
    solo = asyncio.run(accounts.create(site.ctx, "solo@example.com", "Solo")).id
    own = "usr_" + solo.removeprefix("acc_")
    with site.browser(own) as browser:
        for action in ("role", "remove"):
            path = f"/dashboard/users/{own}/{action}"
            answer = browser.post(path, data={"role": "member"})
            assert (answer.status_code, "last owner" in answer.text) == (422, True)
        assert browser.get("/dashboard").status_code == 200
