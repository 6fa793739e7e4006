"""What this node owns, by the database: whether a turn or job is still its own (design: A node that
stood still), how that differs from what runs here, and what it says of what does not go on."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.errors import Fenced
from agentpost.jobs import rows as job_rows
from agentpost.messages import rows as message_rows
from agentpost.nodes import rows as node_rows
from agentpost.nodes.ownership_rows import Differences
from agentpost.transactions import read_transaction

OWNED: Final = {"turns": message_rows.OWNED, "jobs": job_rows.OWNED}
NOT_RUN: Final = "its node is alive but does not run it"
_PREFIX: Final = "missing:"
"""One value of `db.meta` for each node: what it last reported."""


async def confirm(ctx: AppContext, kind: str, owner: str, epoch: int) -> float:
    """Beat and read who owns the turn (by its message) or job; the time, by the node's lease, at
    which this node owned it at that epoch. ``kind``: of `OWNED`. Raises `Fenced`."""
    sent_at = ctx.lease.now()

    def fn(tx: Tx) -> bool:
        node_rows.confirm(tx, ctx.node, ctx.clock.now())
        return OWNED[kind].has(tx, ctx.node, owner, epoch)

    is_ours = await ctx.db.write(fn)
    ctx.lease.renew(sent_at)
    if not is_ours:
        raise Fenced(f"{owner} is not ours any more")
    return sent_at


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
    """Write down for operators which turns and jobs do not go on at this node now, and why: it does
    not run them, or they wait to store a file, or for their code; nothing when it is empty."""
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
