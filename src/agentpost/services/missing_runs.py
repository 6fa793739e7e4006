"""Turns and jobs that a living node owns in the record while nothing there runs them."""

from __future__ import annotations

import json

from agentpost.db import jobs as job_rows
from agentpost.db import messages as message_rows
from agentpost.db import missing_runs as rows
from agentpost.db.session import Tx
from agentpost.services.context import House


async def owned_here(house: House) -> dict[str, dict[str, int]]:
    """The ``turns`` and ``jobs`` that this node should be running: their epochs by id."""

    def fn(tx: Tx) -> dict[str, dict[str, int]]:
        return {
            "turns": message_rows.turns_of(tx, house.node),
            "jobs": job_rows.executing_on(tx, house.node),
        }

    return await house.db.read(fn)


async def tell(house: House, missing: list[str]) -> None:
    """Write down for the doctor what this node is missing now; nothing when it is empty."""
    text = json.dumps(missing) if missing else None
    await house.db.write(lambda tx: rows.put(tx, house.node, text))


def still_missing(tx: Tx) -> list[tuple[str, str]]:
    """(id, state) of what nodes have told to be missing, and still own."""
    owned = dict([*message_rows.running_turns(tx), *job_rows.executing_anywhere(tx)])
    told = {node: rows.get(tx, node) for node in sorted({n for n in owned.values() if n})}
    return [
        (missing, "running")
        for node, text in told.items()
        for missing in json.loads(text or "[]")
        if owned.get(missing) == node
    ]
