"""API keys: the account's keys, a new one shown once; rotating, allow-lists and revoking."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from agentpost.accounts import actions as accounts, network_rules, scope_rules as scopes
from agentpost.accounts.actions import NewKey
from agentpost.accounts.network_rules import Network
from agentpost.accounts.scope_rules import Scope
from agentpost.context import AppContext
from agentpost.domain.errors import not_found
from agentpost.domain.times import DAY, SECOND
from agentpost.http import audited
from agentpost.record.records import KeyRecord
from agentpost.users.role_rules import Right
from agentpost.web.forms import Form, takes_form
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
        "live": [line for line in lines if line.live],
        "ended": [line for line in lines if not line.live],
        "form": form,
        "lifetimes": LIFETIMES,
        "scopes": SCOPES,
        "default_scopes": scopes.DEFAULT_SCOPES,
        "new_key": new_key,
        "api": ctx.settings.public_url,
    }
    return PageView("accounts/keys.html", "API keys", model, form.status)


@takes_form(show)
async def create(ctx: AppContext, request: Request, viewer: Viewer, form: Form) -> View:
    """A new key. The answer shows it, so no address and no storage of the browser ever holds it."""
    days = form.text("expires")
    if days not in dict(LIFETIMES):
        raise form.refusal("expires", "Choose one of the times.")
    lifetime = int(days) * DAY / SECOND if days else None
    with form.refusing("scopes", "Choose at least one permission."):
        scope_set = scopes.parse(form.all("scopes"))
    allowed = _networks(form)
    audited.state(
        request,
        viewer.account_email,
        name=form.text("name"),
        scopes=",".join(scopes.in_order(scope_set)),
        expires=f"{days}d" if days else None,
        allow_ips=[str(each) for each in allowed] or None,
    )
    with form.refusing("name"):
        new_key = await accounts.create_key(
            ctx, viewer.account_id, form.text("name"), lifetime, scope_set, allowed=allowed
        )
    return await show(ctx, request, viewer, None, new_key)


async def settings(
    ctx: AppContext, _: Request, viewer: Viewer, key_id: str, form: Form | None = None
) -> View:
    """Where a live key is rotated and its allow-list changed; raises ``not_found``."""
    now = ctx.clock.now()
    keys = await accounts.keys_of(ctx, viewer.account_id)
    key = next((each for each in keys if each.id == key_id and accounts.is_live(each, now)), None)
    if key is None:
        raise not_found("key")
    network_lines = "\n".join(map(str, network_rules.of_stored(key.networks)))
    form = form or Form({"networks": [network_lines]})
    model = {"line": _line(key, now), "form": form, "overlaps": OVERLAPS}
    return PageView("accounts/key.html", "API key", model, form.status)


@takes_form(settings)
async def allow(ctx: AppContext, request: Request, viewer: Viewer, form: Form, key_id: str) -> View:
    """From where the key may be used, within a second; raises ``not_found``."""
    allowed = _networks(form)
    audited.state(request, allow_ips=[str(each) for each in allowed])
    await accounts.allow(ctx, key_id, allowed, viewer.account_id)
    return Redirect("/dashboard/keys", note="allowed")


@takes_form(settings)
async def rotate(
    ctx: AppContext, request: Request, viewer: Viewer, form: Form, key_id: str
) -> View:
    """A new secret, which only this answer shows; raises ``not_found``."""
    hours = form.text("overlap")
    if hours not in dict(OVERLAPS):
        raise form.refusal("overlap", "Choose one of the times.")
    audited.state(request, overlap=f"{hours}h")
    with form.refusing("overlap"):
        new_key = await accounts.rotate(ctx, key_id, int(hours) * 3_600, viewer.account_id)
    return await show(ctx, request, viewer, None, new_key)


async def revoke(ctx: AppContext, _: Request, viewer: Viewer, key_id: str) -> View:
    """The key stops working within a second; raises ``not_found``."""
    await accounts.revoke_key(ctx, key_id, viewer.account_id)
    return Redirect("/dashboard/keys", note="revoked")


def _networks(form: Form) -> tuple[Network, ...]:
    """What the form's field lists."""
    with form.refusing("networks"):
        return network_rules.parse(form.text("networks").replace(",", " ").split())


def _line(key: KeyRecord, now: int) -> Line:
    live = accounts.is_live(key, now)
    state = "active" if live else "revoked" if key.revoked_at is not None else "expired"
    scope_names = ", ".join(scopes.in_order(scopes.of_stored(key.scopes)))
    allowed = ", ".join(map(str, network_rules.of_stored(key.networks)))
    until = key.old_until if live and key.old_until is not None and key.old_until > now else None
    return Line(key, state, live, scope_names, allowed, until)


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
