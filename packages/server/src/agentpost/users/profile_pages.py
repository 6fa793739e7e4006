"""Oneself: who one is here, and one's password."""

from __future__ import annotations

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.sessions import password_pages
from agentpost.sessions import sign_in as signing_in
from agentpost.sessions.sign_in import WrongPassword
from agentpost.users.role_rules import Right
from agentpost.web import forms, sign_in
from agentpost.web.forms import Form
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer


async def show(_: AppContext, __: Request, viewer: Viewer) -> View:
    """Who is signed in, with the form to change the password."""
    return _page(viewer, Form())


async def change(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Another password: the user's other sessions end."""
    form = await forms.read(ctx, request)
    present, new_password = form.exact("present"), form.exact("password")
    visitor = sign_in.visitor(ctx, request)
    try:
        await signing_in.change_password(
            ctx, viewer.user, present, new_password, viewer.session, visitor
        )
    except ValueError as problem:
        text = str(problem)
        field = "present" if isinstance(problem, WrongPassword) else "password"
        form.wrong(field, f"{text[0].upper()}{text[1:]}.")
        return _page(viewer, form)
    return Redirect("/profile", note="changed")


def _page(viewer: Viewer, form: Form) -> PageView:
    model = {"form": form, "field": password_pages.FIELD, "hint": password_pages.HINT}
    return PageView("users/profile.html", "Profile", model, 422 if form.errors else 200)


PAGES = (
    Page(
        "/profile",
        get=show,
        post=change,
        action="users password",
        nav=Nav("Account", "Profile", "user"),
        right=Right.SELF,
        notes={"changed": "Password changed. Your other sessions were logged out."},
    ),
)
