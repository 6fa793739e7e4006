"""`agentpost nodes`: the server processes, and what each runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentpost.cli.commands import command
from agentpost.cli.context import with_context
from agentpost.cli.printing import Result, listing

if TYPE_CHECKING:
    from agentpost.context import AppContext
    from agentpost.nodes.actions import NodeLine

_COLUMNS = (
    *("id", "host", "pid", "role", "version", "state", "since", "last_beat"),
    *("turns", "jobs", "held_calls", "clock_ahead_seconds"),
)


@command("nodes", "agentpost nodes", "agentpost nodes --json")
def nodes() -> Result:
    """List the server processes.

    A draining process takes no new work. A process without a heartbeat for three seconds counts as
    dead and leaves the list. A clock that differs from the database's by more than five seconds
    has to be set.
    """
    from agentpost.nodes import actions as node_actions

    async def look(ctx: AppContext) -> list[dict[str, Any]]:
        now = ctx.clock.now()
        alone = not ctx.settings.database_url.get_secret_value()
        is_served = None
        if alone:
            from agentpost.db.lock import is_held

            is_served = is_held(ctx.settings.data_path)
        nodes_list = await node_actions.list_all(ctx)
        return [
            _shape(line, node_actions.state_of(line.record, now, is_served), alone)
            for line in nodes_list
        ]

    return listing(with_context(look), _COLUMNS, is_indented=True)


def _shape(line: NodeLine, state: str, alone: bool) -> dict[str, Any]:
    """``alone``: with SQLite nobody watches, so a node beats once, when it starts."""
    from agentpost.domain.times import SECOND, iso

    node = line.record
    ahead = None if node.clock_ahead is None else round(node.clock_ahead / SECOND, 1)
    return {
        "id": node.id,
        "host": node.host,
        "pid": node.pid,
        "role": node.role,
        "version": node.version,
        "state": state,
        "since": iso(node.started_at),
        "draining_since": None if node.draining_at is None else iso(node.draining_at),
        "last_beat": None if alone else iso(node.beat_at),
        "turns": line.turns,
        "jobs": line.jobs,
        "held_calls": None if alone else node.held_calls,
        "clock_ahead_seconds": ahead,
    }
