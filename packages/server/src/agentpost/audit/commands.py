"""`agentpost audit`: what operators did, by command and in the web app."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from agentpost.cli.commands import command
from agentpost.cli.context import with_context
from agentpost.cli.options import Before
from agentpost.cli.printing import Result, fields, listing

_COLUMNS = ("at", "who", "via", "origin", "action", "target", "detail=@detail", "outcome")
_FIELDS = ("id", "at", "who", "via", "origin", "action", "target", "detail", "outcome")


@command(
    "audit", "agentpost audit", "agentpost audit --action keys --target team@example.com --json"
)
def audit(
    who: Annotated[str, typer.Option(help="Only this user.")] = "",
    action: Annotated[str, typer.Option(help="Start of the action: keys, users …")] = "",
    target: Annotated[str, typer.Option(help="Object of the action, as it was typed.")] = "",
    before: Before = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1_000, help="Most items to list.")
    ] = 50,
) -> Result:
    """List the audit log, newest first.

    An action with the outcome "begun" is running or was interrupted.
    """
    from agentpost.audit import actions as operator_log
    from agentpost.domain import ids

    if before is not None and not ids.is_id(ids.ACTION, before):
        raise typer.BadParameter("--before is the id of an action: act_…")
    actions, more = with_context(
        lambda ctx: operator_log.page(
            ctx, before, who=who, action=action, target=target, limit=limit
        )
    )
    rows = [fields(each, _FIELDS, detail=json.loads(each.detail_json)) for each in actions]
    detail = {"detail": lambda row: json.dumps(row["detail"])}
    return listing(rows, _COLUMNS, more, compute=detail)
