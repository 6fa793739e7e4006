"""`agentpost login-link`: open the web pages for a person who may run commands on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from agentpost.cli.context import AsJson, show, with_context
from agentpost.domain.times import iso
from agentpost.services import sessions


def attach(app: typer.Typer) -> None:
    """Add the command."""
    app.command("login-link")(login_link)


def login_link(
    account: Annotated[
        str | None,
        typer.Argument(help="Account id or e-mail address; not needed while there is only one."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a link that signs one browser in to the dashboard, once, within 15 minutes."""
    link = with_context(lambda ctx: sessions.make_link(ctx, account))
    shape = {
        "account_id": link.account.id,
        "email": link.account.email,
        "url": link.url,
        "expires_at": iso(link.expires_at),
    }
    show(shape, as_json, link.url)
