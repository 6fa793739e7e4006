"""Turns and jobs whose owner is alive but does not run them."""

from __future__ import annotations

import json

from agentpost.db import jobs as job_rows
from agentpost.db import messages as message_rows
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.services.context import AppContext
from agentpost.services.transactions import read_transaction

_PREFIX = "missing:"
"""One value of `db.meta` for each node: what it last reported."""


@read_transaction
def owned_here(tx: Tx, ctx: AppContext) -> dict[str, dict[str, int]]:
    """The ``turns`` and ``jobs`` that this node should be running: their epochs by id."""
    return {
        "turns": message_rows.turns_of(tx, ctx.node),
        "jobs": job_rows.executing_on(tx, ctx.node),
    }


async def report_missing(ctx: AppContext, missing: list[str]) -> None:
    """Write down for the doctor what this node is missing now; nothing when it is empty."""
    if missing:
        text = json.dumps(missing)
        await ctx.db.write(lambda tx: meta.put(tx, _PREFIX + ctx.node, text))
    else:
        await ctx.db.write(lambda tx: forget(tx, ctx.node))


def forget(tx: Tx, node: str) -> None:
    """Nothing is missing, or the node is gone."""
    meta.delete(tx, _PREFIX + node)


def still_missing(tx: Tx) -> list[tuple[str, str]]:
    """(id, state) of the rows that nodes reported as missing and still own."""
    owned = dict([*message_rows.running_turns(tx), *job_rows.executing_anywhere(tx)])
    reported = {
        node: meta.get(tx, _PREFIX + node) for node in sorted({n for n in owned.values() if n})
    }
    return [
        (missing, "running")
        for node, text in reported.items()
        for missing in json.loads(text or "[]")
        if owned.get(missing) == node
    ]
