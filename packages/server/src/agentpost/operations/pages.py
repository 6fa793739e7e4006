"""The server for its operator: accounts, nodes, what is open, maintenance and the doctor."""

from typing import Final

from starlette.requests import Request

from agentpost.accounts import actions as accounts, authors
from agentpost.audit import actions as audit
from agentpost.context import AppContext
from agentpost.credits import actions as credits, usage
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.http import audited
from agentpost.limits import allowances
from agentpost.limits.allowances import NAMES, SWITCHES
from agentpost.operations import doctor, maintenance, server_overview
from agentpost.sessions import oidc, password_links
from agentpost.sessions.password_links import PasswordLink
from agentpost.users.role_rules import Right
from agentpost.web import forms
from agentpost.web.forms import Form, FormRefused, takes_form
from agentpost.web.listing import Listing
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer

_PATH: Final = "/dashboard/operator"
_ONE: Final = f"{_PATH}/accounts/{{account_id}}"
_DIGITS_MAX: Final = 15
_LIMIT_NAMES: Final = {
    "requests_per_minute": "Requests per minute and key",
    "messages_per_hour": "Messages per hour",
    "messages_per_day": "Messages per day",
    "waits_per_hour": "Waiting reads per hour",
    "work_reads_per_hour": "Reads of work per hour",
    "running_jobs": "Running jobs",
    "stored_bytes": "Stored bytes",
    "conversation_required": "Conversation required (0 or 1)",
}


async def show(ctx: AppContext, request: Request, _: Viewer, form: Form | None = None) -> View:
    """The server, the accounts that fit the search, and the form for a new one."""
    form = form or Form()
    listing = Listing.of(request, _PATH, ids.ACCOUNT, ("q",))
    text = listing.filters.get("q", "").strip()[:200]
    overview = await server_overview.server(ctx, text, listing.before)
    model = {**listing.model(overview.more), "server": overview, "search": text, "new": form}
    model["mails"] = password_links.sends_mail(ctx)
    model["sign_ins"] = await ctx.db.read(oidc.failures)
    return PageView("operations/operator.html", "Operator", model, form.status)


@takes_form(show)
async def create(ctx: AppContext, request: Request, _: Viewer, form: Form) -> View:
    """A new account, with an address that is free. Its owner is mailed a link; without a mail
    server the answer shows it, and nothing else ever does."""
    with form.refusing("credits", "Enter a number, such as 100."):
        amount = float(form.text("credits", "0") or "0")
    audited.state(request, form.text("email"), credits=amount)
    with form.refusing("email"):
        account = await accounts.create(ctx, form.text("email"), form.text("name"), amount)
    invitation = await password_links.invite_first(ctx, account.id)
    return await _account(ctx, account.id, Form(), invitation)


async def switch(ctx: AppContext, request: Request, _: Viewer) -> View:
    """Switch the API off or on; this process follows at once, others within a second."""
    on = (await forms.read(ctx, request)).text("to") == "on"
    audited.state(request, to="on" if on else "off")
    await maintenance.switch(ctx, on=on)
    await maintenance.refresh(ctx)
    return Redirect(_PATH, note="off" if on else "on")


async def examine(ctx: AppContext, _: Request, __: Viewer) -> View:
    """The doctor's findings and warnings."""
    report = await doctor.report(ctx)
    model = {"findings": report.findings, "warnings": report.warnings}
    return PageView("operations/operator_doctor.html", "Doctor", model)


async def show_actions(ctx: AppContext, request: Request, _: Viewer) -> View:
    """What operators did, newest first."""
    listing = Listing.of(request, f"{_PATH}/audit", ids.ACTION, ("who", "action", "target"))
    who, action, target = (
        listing.filters.get(name, "").strip()[:200] for name in ("who", "action", "target")
    )
    actions, more = await audit.page(ctx, listing.before, who=who, action=action, target=target)
    model = {**listing.model(more), "actions": actions}
    return PageView("operations/operator_audit.html", "Audit log", model)


async def show_account(
    ctx: AppContext, _: Request, __: Viewer, account_id: str, form: Form | None = None
) -> View:
    """One account; raises ``not_found``."""
    return await _account(ctx, account_id, form or Form())


@takes_form(show_account)
async def add_credits(
    ctx: AppContext, request: Request, viewer: Viewer, form: Form, account_id: str
) -> View:
    """Add credits to an account, or take some back; raises ``not_found``."""
    note = form.text("note") or f"added by {viewer.email}"
    with form.refusing("amount", "Enter a number, such as 100 or -2.5."):
        amount = float(form.text("amount"))
    audited.state(request, amount=amount, note=note)
    with form.refusing("amount"):
        await credits.add(ctx, account_id, amount, note)
    return Redirect(f"{_PATH}/accounts/{account_id}", note="added" if amount > 0 else "taken")


async def set_fees(ctx: AppContext, request: Request, _: Viewer, account_id: str) -> View:
    """Whether hosting fees are due; raises ``not_found``."""
    due = (await forms.read(ctx, request)).text("to") == "due"
    audited.state(request, due=due)
    await accounts.set_hosting_fees(ctx, account_id, due)
    return Redirect(f"{_PATH}/accounts/{account_id}", note="due" if due else "paid")


@takes_form(show_account)
async def set_limits(
    ctx: AppContext, request: Request, _: Viewer, form: Form, account_id: str
) -> View:
    """The limits of one account: an empty field is the server's own; raises ``not_found``."""
    changes: dict[str, int | None] = {}
    for name in NAMES:
        text = form.text(name)
        is_number = text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
        try:
            if text and not is_number:
                raise ValueError
            changes[name] = int(text) if text else None
            allowances.validate({name: changes[name]})
        except ValueError:
            values = "0 or 1" if name in SWITCHES else "a whole number greater than zero"
            form.wrong(name, f"Enter {values}, or leave the field empty.")
    if form.errors:
        raise FormRefused
    audited.state(request, **changes)
    await allowances.override(ctx, account_id, changes)
    return Redirect(f"{_PATH}/accounts/{account_id}", note="limits")


async def _account(
    ctx: AppContext, account_id: str, form: Form, invitation: PasswordLink | None = None
) -> View:
    view = await server_overview.account(ctx, account_id)
    statement = await usage.statement(ctx, account_id, with_sums=False)
    wallet = view.account.wallet
    overrides = Form({name: [str(value)] for name, value in view.overrides.items()})
    model = {
        "view": view,
        "path": f"{_PATH}/accounts/{account_id}",
        "available": to_credits(wallet.available),
        "held": to_credits(wallet.held),
        "lines": statement.lines[:10],
        "authors": await authors.of_account(ctx, account_id),
        "form": form,
        "invited": invitation,
        "limits": form if any(name in form.errors for name in NAMES) else overrides,
        "labels": _LIMIT_NAMES,
        "defaults": allowances.allowances_of(ctx.settings, allowances.NO_OVERRIDES).as_dict(),
    }
    title = view.account.name or view.account.email
    return PageView("operations/operator_account.html", title, model, form.status)


PAGES = (
    Page(
        _PATH,
        get=show,
        post=create,
        live=True,
        every=3,
        nav=Nav("Server", "Operator", "shield"),
        right=Right.OPERATE,
        action="accounts create",
        notes={
            "off": "Maintenance started. The API responds with 503 until you end it.",
            "on": "Maintenance ended.",
        },
    ),
    Page(f"{_PATH}/maintenance", post=switch, right=Right.OPERATE, action="maintenance"),
    Page(f"{_PATH}/audit", get=show_actions, right=Right.OPERATE),
    Page(f"{_PATH}/doctor", get=examine, right=Right.OPERATE),
    Page(
        _ONE,
        get=show_account,
        right=Right.OPERATE,
        notes={
            "added": "Credits added. Jobs that waited for credits continue.",
            "taken": "Credits taken back.",
            "due": "Hosting fees marked as due. No new jobs start.",
            "paid": "Hosting fees marked as paid.",
            "limits": "Limits saved.",
        },
    ),
    Page(f"{_ONE}/credits", post=add_credits, right=Right.OPERATE, action="credits add"),
    Page(f"{_ONE}/fees", post=set_fees, right=Right.OPERATE, action="hosting-fees"),
    Page(f"{_ONE}/limits", post=set_limits, right=Right.OPERATE, action="limits set"),
)
