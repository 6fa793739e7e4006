"""`agentpost sessions`: who is signed in to the web app, and ending that."""

from __future__ import annotations

from typing import Annotated

import typer

from agentpost.cli import exits
from agentpost.cli.commands import command
from agentpost.cli.context import change, with_context
from agentpost.cli.errors import fail
from agentpost.cli.printing import Result, fields, listing

Of = Annotated[str | None, typer.Option(help="Only of this user or account: id or e-mail address.")]
_COLUMNS = ("id", "user", "browser", "address", "since", "last_used_at", "expires_at")
_FIELDS = (
    *("id", "user", "user_id", "account_id", "browser", "address"),
    *("since=created_at", "last_used_at", "expires_at"),
)


@command("sessions list", "agentpost sessions list --of ada@example.com")
def sessions_list(of: Of = None) -> Result:
    """List the sessions of the web app, newest first."""
    from agentpost.sessions import actions as sessions

    rows = with_context(lambda ctx: sessions.of_everybody(ctx, of))
    shapes = []
    for each, user in rows:
        whose = {"user": user.address, "user_id": user.id, "account_id": user.account_id}
        place = {"browser": each.browser or None, "address": each.address or None}
        shapes.append(fields(each, _FIELDS, **whose, **place))
    return listing(shapes, _COLUMNS)


@command(
    "sessions end",
    "agentpost sessions end 5f2b9c0e5d1b4a6f8c7d3e2a1b0f9e8d",
    "agentpost sessions end --all --of ada@example.com",
)
def sessions_end(
    session_id: Annotated[str | None, typer.Argument(help="Id of the session.")] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="All sessions, or all of --of, and their login links.")
    ] = False,
    of: Of = None,
) -> Result:
    """End a session, or all sessions; their users have to sign in again."""
    from agentpost.sessions import actions as sessions

    if (session_id is None) is not everyone or (of is not None and not everyone):
        fail("pass the id of a session, or --all", exits.USAGE)
    if session_id is not None:
        ended_id = session_id
        change(lambda ctx: sessions.end_by_operator(ctx, ended_id), ended_id)
        return Result({"id": ended_id, "ended": 1}, f"{ended_id} has ended")
    number = change(lambda ctx: sessions.end_all(ctx, of), of or "all")
    line = "1 session has ended" if number == 1 else f"{number} sessions have ended"
    return Result({"of": of, "ended": number}, line)
