"""API keys: the account's keys, a new one shown once, and revoking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from agentpost.domain import ids, scopes
from agentpost.domain.errors import not_found
from agentpost.domain.records import KeyRecord
from agentpost.domain.roles import Right
from agentpost.domain.scopes import Scope
from agentpost.domain.times import DAY, SECOND
from agentpost.services import accounts
from agentpost.services.accounts import NewKey
from agentpost.services.context import AppContext
from agentpost.web import forms
from agentpost.web.forms import Form
from agentpost.web.page import Nav, Page, Redirect, Shown, View, Viewer

LIFETIMES: Final = (
    ("", "Never"),
    ("7", "In 7 days"),
    ("30", "In 30 days"),
    ("90", "In 90 days"),
    ("365", "In a year"),
)
SCOPES: Final = (
    (Scope.SEND, "Send messages and files, stop work"),
    (Scope.READ, "Read messages, work, files and usage"),
    (Scope.ADMIN, "Manage webhook endpoints, delete work"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A key in the list; ``state`` and ``scopes`` are what people read."""

    key: KeyRecord
    state: str
    live: bool
    scopes: str


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The keys, with the form for another one."""
    return await _page(ctx, viewer, Form())


async def create(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A new key. The answer shows it, so no address and no storage of the browser ever holds it."""
    form = await forms.read(ctx, request)
    days = form.text("expires")
    if days not in dict(LIFETIMES):
        form.wrong("expires", "Choose one of the times.")
        return await _page(ctx, viewer, form)
    lifetime = int(days) * DAY / SECOND if days else None
    try:
        granted = scopes.parse(form.all("scopes"))
    except ValueError:
        form.wrong("scopes", "Choose at least one thing that the key may do.")
        return await _page(ctx, viewer, form)
    try:
        name = form.text("name")
        made = await accounts.create_key(ctx, viewer.account_id, name, lifetime, granted)
    except ValueError as problem:
        text = str(problem)
        form.wrong("name", f"{text[0].upper()}{text[1:]}.")
        return await _page(ctx, viewer, form)
    return await _page(ctx, viewer, Form(), made)


async def revoke(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """The key stops working within a second; raises ``not_found``."""
    key_id: str = request.path_params["key_id"]
    if not ids.is_id(ids.KEY, key_id):
        raise not_found("key")
    await accounts.revoke_key(ctx, key_id, viewer.account_id)
    return Redirect("/dashboard/keys", note="revoked")


async def _page(ctx: AppContext, viewer: Viewer, form: Form, made: NewKey | None = None) -> View:
    now = ctx.clock.now()
    lines = [_line(key, now) for key in await accounts.keys_of(ctx, viewer.account_id)]
    model = {
        "live": _sorted(lines, live=True),
        "ended": _sorted(lines, live=False),
        "form": form,
        "lifetimes": LIFETIMES,
        "scopes": SCOPES,
        "made": made,
        "api": ctx.settings.public_url,
    }
    return Shown("pages/keys.html", "API keys", model, 422 if form.errors else 200)


def _line(key: KeyRecord, now: int) -> Line:
    live = accounts.is_live(key, now)
    state = "active" if live else "revoked" if key.revoked_at is not None else "expired"
    return Line(key, state, live, ", ".join(scopes.in_order(scopes.of_stored(key.scopes))))


def _sorted(lines: Sequence[Line], *, live: bool) -> list[Line]:
    return [line for line in lines if line.live == live]


PAGES = (
    Page(
        "/dashboard/keys",
        get=show,
        post=create,
        action="keys create",
        nav=Nav("Dashboard", "API keys", "key-round"),
        right=Right.READ,
        post_right=Right.KEYS,
        notes={"revoked": "The key is revoked. Calls with it are refused from now on."},
    ),
    Page("/dashboard/keys/{key_id}/revoke", post=revoke, right=Right.KEYS, action="keys revoke"),
)
