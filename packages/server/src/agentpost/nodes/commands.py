"""`agentpost nodes`: the server processes, and what each runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentpost.cli.commands import command
from agentpost.cli.context import with_context
from agentpost.cli.printing import Result, fields, listing

if TYPE_CHECKING:
    from agentpost.context import AppContext
    from agentpost.nodes.actions import NodeLine

_COLUMNS = (
    *("id", "host", "pid", "role", "version", "state", "since", "last_beat"),
    *("turns", "jobs", "held_calls", "clock_ahead_seconds"),
)
_FIELDS = (
    *("id", "host", "pid", "role", "version", "state", "since=started_at"),
    *("draining_since=draining_at", "last_beat=beat_at"),
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

    return listing(with_context(look), _COLUMNS)


def _shape(line: NodeLine, state: str, alone: bool) -> dict[str, Any]:
    """``alone``: with SQLite nobody watches, so a node beats once, when it starts."""
    from agentpost.domain.times import SECOND

    node = line.record
    ahead = None if node.clock_ahead is None else round(node.clock_ahead / SECOND, 1)
    unwatched = {"last_beat": None, "held_calls": None} if alone else {}
    own = {"state": state, "turns": line.turns, "jobs": line.jobs, "clock_ahead_seconds": ahead}
    return fields(node, _FIELDS, **own, **unwatched)
