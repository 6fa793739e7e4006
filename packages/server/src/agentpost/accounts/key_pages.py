"""API keys: the account's keys, a new one shown once; rotating, allow-lists and revoking."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from agentpost.accounts import actions as accounts, keys, network_rules, scope_rules as scopes
from agentpost.accounts.actions import NewKey
from agentpost.accounts.network_rules import Network
from agentpost.accounts.scope_rules import Scope
from agentpost.context import AppContext
from agentpost.domain.errors import not_found
from agentpost.domain.times import DAY, SECOND
from agentpost.http import audited
from agentpost.record.records import KeyRecord
from agentpost.users.role_rules import Right
from agentpost.web import forms
from agentpost.web.forms import Form
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer

LIFETIMES: Final = (
    ("", "Never"),
    ("7", "In 7 days"),
    ("30", "In 30 days"),
    ("90", "In 90 days"),
    ("365", "In a year"),
)
SCOPES: Final = (
    (Scope.SEND, "Send messages and files, stop jobs"),
    (Scope.READ, "Read messages, jobs, files and usage"),
    (Scope.ADMIN, "Manage webhook endpoints, delete chats"),
    (Scope.READ_ALL, "Read messages of other keys and users"),
)
"""With what people read of each."""
OVERLAPS: Final = (
    ("24", "One day"),
    ("1", "One hour"),
    ("168", "One week"),
    ("0", "Not at all: it stops working immediately"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A key in the list; ``state``, ``scopes`` and ``networks`` are what people read.
    ``old_until``: how long the secret before the last rotation still works."""

    key: KeyRecord
    state: str
    live: bool
    scopes: str
    networks: str
    old_until: int | None


async def show(
    ctx: AppContext,
    _: Request,
    viewer: Viewer,
    form: Form | None = None,
    new_key: NewKey | None = None,
) -> View:
    """The keys, with the form for another one, or with a key that was made just now."""
    form = form or Form()
    now = ctx.clock.now()
    lines = [_line(key, now) for key in await accounts.keys_of(ctx, viewer.account_id)]
    model = {
        "live": _sort_lines(lines, live=True),
        "ended": _sort_lines(lines, live=False),
        "form": form,
        "lifetimes": LIFETIMES,
        "scopes": SCOPES,
        "default_scopes": scopes.DEFAULT_SCOPES,
        "new_key": new_key,
        "api": ctx.settings.public_url,
    }
    return PageView("accounts/keys.html", "API keys", model, form.status)


async def create(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A new key. The answer shows it, so no address and no storage of the browser ever holds it."""
    form = await forms.read(ctx, request)
    days = form.text("expires")
    if days not in dict(LIFETIMES):
        form.wrong("expires", "Choose one of the times.")
        return await show(ctx, request, viewer, form)
    lifetime = int(days) * DAY / SECOND if days else None
    try:
        scope_set = scopes.parse(form.all("scopes"))
    except ValueError:
        form.wrong("scopes", "Choose at least one permission.")
        return await show(ctx, request, viewer, form)
    allowed = _networks(form)
    if allowed is None:
        return await show(ctx, request, viewer, form)
    audited.state(
        request,
        viewer.account_email,
        name=form.text("name"),
        scopes=",".join(scopes.in_order(scope_set)),
        expires=f"{days}d" if days else None,
        allow_ips=[str(each) for each in allowed] or None,
    )
    try:
        new_key = await accounts.create_key(
            ctx, viewer.account_id, form.text("name"), lifetime, scope_set, allowed=allowed
        )
    except ValueError as problem:
        form.refuse("name", problem)
        return await show(ctx, request, viewer, form)
    return await show(ctx, request, viewer, None, new_key)


async def settings(ctx: AppContext, request: Request, viewer: Viewer, key_id: str) -> View:
    """Where a live key is rotated and its allow-list changed; raises ``not_found``."""
    key = await _live_key(ctx, viewer, key_id)
    network_lines = "\n".join(map(str, network_rules.of_stored(key.networks)))
    return _settings(ctx, key, Form({"networks": [network_lines]}))


async def allow(ctx: AppContext, request: Request, viewer: Viewer, key_id: str) -> View:
    """From where the key may be used, within a second; raises ``not_found``."""
    form = await forms.read(ctx, request)
    allowed = _networks(form)
    if allowed is None:
        return _settings(ctx, await _live_key(ctx, viewer, key_id), form)
    audited.state(request, allow_ips=[str(each) for each in allowed])
    await keys.allow(ctx, key_id, allowed, viewer.account_id)
    return Redirect("/dashboard/keys", note="allowed")


async def rotate(ctx: AppContext, request: Request, viewer: Viewer, key_id: str) -> View:
    """A new secret, which only this answer shows; raises ``not_found``."""
    form = await forms.read(ctx, request)
    hours = form.text("overlap")
    if hours not in dict(OVERLAPS):
        form.wrong("overlap", "Choose one of the times.")
        return _settings(ctx, await _live_key(ctx, viewer, key_id), form)
    audited.state(request, overlap=f"{hours}h")
    try:
        new_key = await keys.rotate(ctx, key_id, int(hours) * 3_600, viewer.account_id)
    except ValueError as problem:
        form.refuse("overlap", problem)
        return _settings(ctx, await _live_key(ctx, viewer, key_id), form)
    return await show(ctx, request, viewer, None, new_key)


async def revoke(ctx: AppContext, _: Request, viewer: Viewer, key_id: str) -> View:
    """The key stops working within a second; raises ``not_found``."""
    await accounts.revoke_key(ctx, key_id, viewer.account_id)
    return Redirect("/dashboard/keys", note="revoked")


async def _live_key(ctx: AppContext, viewer: Viewer, key_id: str) -> KeyRecord:
    for key in await accounts.keys_of(ctx, viewer.account_id):
        if key.id == key_id and accounts.is_live(key, ctx.clock.now()):
            return key
    raise not_found("key")


def _networks(form: Form) -> tuple[Network, ...] | None:
    """What the form's field lists; None when that is wrong, which the form says then."""
    try:
        return network_rules.parse(form.text("networks").replace(",", " ").split())
    except ValueError as problem:
        form.refuse("networks", problem)
        return None


def _settings(ctx: AppContext, key: KeyRecord, form: Form) -> View:
    model = {"line": _line(key, ctx.clock.now()), "form": form, "overlaps": OVERLAPS}
    return PageView("accounts/key.html", "API key", model, form.status)


def _line(key: KeyRecord, now: int) -> Line:
    live = accounts.is_live(key, now)
    state = "active" if live else "revoked" if key.revoked_at is not None else "expired"
    scope_names = ", ".join(scopes.in_order(scopes.of_stored(key.scopes)))
    allowed = ", ".join(map(str, network_rules.of_stored(key.networks)))
    until = key.old_until if live and key.old_until is not None and key.old_until > now else None
    return Line(key, state, live, scope_names, allowed, until)


def _sort_lines(lines: Sequence[Line], *, live: bool) -> list[Line]:
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
        notes={
            "revoked": "Key revoked. Requests with it are rejected from now on.",
            "allowed": "Allowed IP addresses saved.",
        },
    ),
    Page(
        "/dashboard/keys/{key_id}",
        get=settings,
        post=allow,
        right=Right.KEYS,
        action="keys allow",
    ),
    Page("/dashboard/keys/{key_id}/rotate", post=rotate, right=Right.KEYS, action="keys rotate"),
    Page("/dashboard/keys/{key_id}/revoke", post=revoke, right=Right.KEYS, action="keys revoke"),
)
