"""Who may sign in to the account: inviting, roles, links for a password, removing.

An operator sees those of any account, named by ``?account=``.
"""

from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request

from agentpost.accounts import actions as accounts
from agentpost.context import AppContext
from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.http import audited
from agentpost.sessions import password_links, password_pages, sign_in as signing_in
from agentpost.sessions.password_links import PasswordLink
from agentpost.sessions.sign_in import WrongPassword
from agentpost.users import actions as users
from agentpost.users.role_rules import Right, Role, may_manage, roles_below
from agentpost.web import sign_in
from agentpost.web.forms import Form, takes_form
from agentpost.web.listing import Listing
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer

PATH: Final = "/dashboard/users"
_ONE: Final = f"{PATH}/{{user_id}}"
WHAT: Final = {
    Role.OPERATOR: "manage the server and all accounts",
    Role.OWNER: "manage this account",
    Role.MEMBER: "use the chat, read everything else",
}
"""What each role may do, in a few words; docs/signing-in.md has the table."""


async def show(
    ctx: AppContext,
    request: Request,
    viewer: Viewer,
    form: Form | None = None,
    *,
    invitation: PasswordLink | None = None,
) -> PageView:
    """The users, newest first, with the form to invite another one."""
    form = form or Form()
    account = await accounts.find(ctx, _account_id(request, viewer))
    is_own = account.id == viewer.account_id
    filters = {} if is_own else {"account": account.id}
    listing = replace(Listing.of(request, PATH, ids.USER), filters=filters)
    page_users, more = await users.list_(ctx, account.id, listing.before)
    roles = roles_below(viewer.user.role)
    model = {
        **listing.model(more),
        "lines": [(each, may_manage(viewer.user.role, each.role)) for each in page_users],
        "whose": account,
        "is_own": is_own,
        "query": f"?{urlencode(filters)}" if filters else "",
        "roles": [(role.value, f"{role.value}: {WHAT[role]}") for role in roles],
        "names": [role.value for role in roles],
        "form": form,
        "invited": invitation,
        "mails": password_links.sends_mail(ctx),
        "provider": ctx.settings.oidc_name if ctx.settings.oidc_issuer else "",
    }
    return PageView("users/users.html", "Users", model, form.status)


@takes_form(show)
async def invite(ctx: AppContext, request: Request, viewer: Viewer, form: Form) -> View:
    """Invite somebody. A link is mailed; without a mail server the answer shows it to an operator,
    and nothing else ever does."""
    role, account_id = _role(form), _account_id(request, viewer)
    if role is None:
        raise form.refusal("role", "Choose one of the roles.")
    audited.state(request, form.text("email"), role=role.value, account_id=account_id)
    with form.refusing("email"):
        link = await password_links.invite(ctx, viewer.user, account_id, form.text("email"), role)
    return await show(ctx, request, viewer, invitation=link)


async def _show_again(
    ctx: AppContext, request: Request, viewer: Viewer, user_id: str, form: Form
) -> View:
    """The list with the reason why one of the users cannot be changed."""
    return await show(ctx, request, viewer, Form(errors=form.errors))


@takes_form(_show_again)
async def change_role(
    ctx: AppContext, request: Request, viewer: Viewer, form: Form, user_id: str
) -> View:
    """Another role; raises ``not_found``."""
    role = _role(form)
    if role is None:
        raise not_found("role")
    audited.state(request, role=role.value)
    with form.refusing("form"):
        await users.set_role(ctx, user_id, role, viewer.user)
    return _back(request)


@takes_form(_show_again)
async def remove(
    ctx: AppContext, request: Request, viewer: Viewer, form: Form, user_id: str
) -> View:
    """The user is removed and signed out; raises ``not_found``."""
    with form.refusing("form"):
        await users.remove(ctx, user_id, viewer.user)
    return _back(request)


@takes_form(_show_again)
async def link(ctx: AppContext, request: Request, viewer: Viewer, form: Form, user_id: str) -> View:
    """A link to choose a password, shown only in this answer; that of an invitation is mailed
    again, or shown to an operator. Raises ``not_found``."""
    with form.refusing("form"):
        invitation = await password_links.renew(ctx, user_id, viewer.user)
    return await show(ctx, request, viewer, invitation=invitation)


def _back(request: Request) -> Redirect:
    account_id = request.query_params.get("account", "")
    return Redirect(f"{PATH}?account={account_id}") if account_id else Redirect(PATH, note="done")


def _account_id(request: Request, viewer: Viewer) -> str:
    """One's own account, or for an operator the one in the address."""
    account_id = request.query_params.get("account", "")
    is_other = viewer.is_operator and ids.is_id(ids.ACCOUNT, account_id)
    return account_id if is_other else viewer.account_id


def _role(form: Form) -> Role | None:
    text = form.text("role")
    return Role(text) if text in set(Role) else None


async def show_profile(
    _: AppContext, __: Request, ___: Viewer, form: Form | None = None
) -> PageView:
    """Who is signed in, with the form to change the password."""
    form = form or Form()
    model = {"form": form, "field": password_pages.FIELD, "hint": password_pages.HINT}
    return PageView("users/profile.html", "Profile", model, form.status)


@takes_form(show_profile)
async def change(ctx: AppContext, request: Request, viewer: Viewer, form: Form) -> View:
    """Another password: the user's other sessions end."""
    present, new_password = form.exact("present"), form.exact("password")
    visitor = sign_in.visitor(ctx, request)
    with form.refusing("password"):
        try:
            await signing_in.change_password(
                ctx, viewer.user, present, new_password, viewer.session, visitor
            )
        except WrongPassword as problem:
            with form.refusing("present"):
                raise problem from None
    return Redirect("/profile", note="changed")


PAGES = (
    Page(
        PATH,
        get=show,
        post=invite,
        action="users create",
        nav=Nav("Account", "Users", "users"),
        right=Right.USERS,
        notes={"done": "User updated. They have to sign in again."},
    ),
    Page(f"{_ONE}/role", post=change_role, right=Right.USERS, action="users role"),
    Page(f"{_ONE}/remove", post=remove, right=Right.USERS, action="users remove"),
    Page(f"{_ONE}/link", post=link, right=Right.USERS, action="users password-link"),
    Page(
        "/profile",
        get=show_profile,
        post=change,
        action="users password",
        nav=Nav("Account", "Profile", "user"),
        right=Right.SELF,
        notes={"changed": "Password changed. Your other sessions were logged out."},
    ),
)
