"""A forgotten password, and links that work once: to choose one, to accept an invitation."""

from collections.abc import Sequence
from typing import Final

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.domain.limits import PASSWORD_BYTES_MAX, PASSWORD_CHARACTERS_MIN
from agentpost.sessions import password_links
from agentpost.sessions.password_links import Offer
from agentpost.web import sign_in
from agentpost.web.forms import Form, takes_form
from agentpost.web.page import OpenPage, PageView, Redirect, View


def spent_notice(text: str, **model: object) -> PageView:
    """What is shown instead of what a link was for."""
    title = "This link does not work"
    notice = {"heading": title, "text": text, "sign_in": False, **model}
    return PageView("layout/notice.html", title, notice, 403)


_SPENT: Final = spent_notice(
    "This link has been used or has expired. Request a new one:"
    " by “Forgot your password?”, or from the one who invited you."
)
FIELD: Final = {
    "autocomplete": "new-password",
    "minlength": PASSWORD_CHARACTERS_MIN,
    "maxlength": PASSWORD_BYTES_MAX,
}
"""Attributes of a field for a new password."""
HINT: Final = f"At least {PASSWORD_CHARACTERS_MIN} characters."


async def ask(
    ctx: AppContext, _: Request, form: Form | None = None, *, is_sent: bool = False
) -> PageView:
    """Whose password is forgotten; ``is_sent``: a mail is on its way."""
    form = form or Form()
    mails = password_links.sends_mail(ctx)
    model = {"form": form, "sent": is_sent, "email": form.text("email"), "mails": mails}
    return PageView("sessions/password_forgotten.html", "Forgot your password?", model, form.status)


@takes_form(ask)
async def send(ctx: AppContext, request: Request, form: Form) -> View:
    """Mail a link. The answer is the same whether there is such a user or not."""
    if not password_links.sends_mail(ctx):
        return await ask(ctx, request, form)
    visitor = sign_in.visitor(ctx, request)
    with form.refusing("email", "Enter an e-mail address, such as name@example.com."):
        await password_links.ask_for_mail(ctx, form.text("email"), visitor.address)
    return await ask(ctx, request, form, is_sent=True)


async def choose(ctx: AppContext, _: Request, token: str, form: Form | None = None) -> View:
    """The form to accept an invitation or to choose a new password. Looking spends nothing."""
    form = form or Form()
    offer = await ctx.db.read(lambda tx: password_links.offer(tx, ctx, token))
    if offer is None:
        return _SPENT
    if offer.is_question:
        return invitations([offer], form)
    model = {"form": form, "offer": offer, "field": FIELD, "hint": HINT}
    return PageView("sessions/password_new.html", "Set your password", model, form.status)


@takes_form(choose)
async def keep(ctx: AppContext, request: Request, form: Form, token: str) -> View:
    """The link is spent, what it offers is accepted, this browser is signed in and no other one."""
    visitor = sign_in.visitor(ctx, request)
    with form.refusing("form"), form.refusing("password"):
        secret = await password_links.set_password(ctx, token, form.exact("password"), visitor)
    return Redirect(sign_in.START, session=secret) if secret is not None else _SPENT


def invitations(offers: Sequence[Offer], form: Form) -> PageView:
    """Which account invites, and who; a button for each accepts it."""
    model = {"offers": offers, "form": form, "field": FIELD, "hint": HINT}
    return PageView("sessions/invitations.html", "You are invited", model, form.status)


PAGES = (
    OpenPage("/password", get=ask, post=send),
    OpenPage("/password/{token}", get=choose, post=keep),
)
