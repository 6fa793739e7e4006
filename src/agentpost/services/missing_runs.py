"""Turns and jobs whose owner is alive but does not run them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from agentpost.db import jobs as job_rows
from agentpost.db import messages as message_rows
from agentpost.db import meta
from agentpost.db.ownership import Differences
from agentpost.db.session import Tx
from agentpost.services.context import AppContext
from agentpost.services.transactions import read_transaction

_PREFIX = "missing:"
"""One value of `db.meta` for each node: what it last reported."""


_OWNED = {"turns": message_rows.OWNED, "jobs": job_rows.OWNED}


@read_transaction
def differences(
    tx: Tx, ctx: AppContext, running: Mapping[str, Callable[[], dict[str, int]]]
) -> dict[str, Differences]:
    """How what runs here differs from what this node owns, for ``turns`` and ``jobs``.

    ``running``: what tells their epochs by id. It is called on the database's thread, because there
    may be thousands, and before anything is read: what runs by then was committed, so the record
    must have it.
    """
    epochs = {name: epochs_of() for name, epochs_of in running.items()}
    return {name: _OWNED[name].differences(tx, ctx.node, of) for name, of in epochs.items()}


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
