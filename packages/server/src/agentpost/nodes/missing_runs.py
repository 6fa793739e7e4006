"""What a node says of turns and jobs it owns that do not go on: it does not run them, or they
wait to store a file, or for their code."""

import json
from collections.abc import Callable, Mapping

from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.jobs import rows as job_rows
from agentpost.messages import rows as message_rows
from agentpost.nodes.ownership import OWNED
from agentpost.nodes.ownership_rows import Differences
from agentpost.transactions import read_transaction

NOT_RUN = "its node is alive but does not run it"
_PREFIX = "missing:"
"""One value of `db.meta` for each node: what it last reported."""


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
    return {name: OWNED[name].differences(tx, ctx.node, of) for name, of in epochs.items()}


async def report(ctx: AppContext, problems: Mapping[str, str]) -> None:
    """Write down for operators what does not go on at this node now, and why; nothing when it is
    empty."""
    if problems:
        text = json.dumps(problems)
        await ctx.db.write(lambda tx: meta.put(tx, _PREFIX + ctx.node, text))
    else:
        await ctx.db.write(lambda tx: forget(tx, ctx.node))


def forget(tx: Tx, node: str) -> None:
    """Everything goes on, or the node is gone."""
    meta.delete(tx, _PREFIX + node)


def reported_rows(tx: Tx) -> list[tuple[str, str]]:
    """(id, problem) of the rows that nodes reported and still own."""
    reports = meta.starting(tx, _PREFIX)
    if not reports:
        return []
    node_by_owner = dict([*message_rows.running_turns(tx), *job_rows.executing_anywhere(tx)])
    return [
        (owner, problem)
        for name, text in sorted(reports.items())
        for owner, problem in json.loads(text).items()
        if node_by_owner.get(owner) == name.removeprefix(_PREFIX)
    ]
