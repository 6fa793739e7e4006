"""What is wrong with a node among others: its clock, or the address that its links begin with.

Each node says it of itself: in its log, at `/readyz`, and in the table of nodes. The doctor says it
of all (design: Clocks of nodes, Links).
"""

from typing import Final

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.times import SECOND, seconds
from agentpost.nodes import rows as node_rows
from agentpost.settings import Settings

CLOCK_SECONDS_MAX: Final = 5.0
"""A clock that differs by more judges others' deadlines wrongly: a message waits so long for its
turn, the shortest of what several nodes judge."""
ADDRESS: Final = "AGENTPOST_BASE_URL"


def clock_ahead_of(there: int, before: int, after: int) -> int:
    """How far a clock is ahead of the database's, negative behind; at least, since the answer took
    time.

    Args:
        there: the database's clock, in microseconds.
        before: this clock before the database was asked.
        after: this clock when it had answered.
    """
    if there < before:
        return before - there
    return min(after - there, 0)


def clock_problem(ahead: int | None) -> str | None:
    """What to say of a clock that is so many microseconds ahead; None when it is good enough, or
    nobody has compared it."""
    if ahead is None or abs(ahead) <= seconds(CLOCK_SECONDS_MAX):
        return None
    return (
        f"its clock is {abs(ahead) / SECOND:.1f} seconds {'ahead of' if ahead > 0 else 'behind'}"
        " the database's: set it, and keep it set by NTP; until then other nodes may end its turns"
        " early or late, and signatures, links and limits have wrong times"
    )


def address_problem(settings: Settings, others: int) -> str | None:
    """What to say of a node without a `base_url` beside so many others; None when all is well."""
    if settings.base_url or others < 1:
        return None
    return (
        f"several nodes run and {ADDRESS} is not set, so links that this one makes lead to"
        f" {settings.public_url}, those of another one to that: set it on every node to the address"
        " that clients use"
    )


def find_faults(tx: Tx, ctx: AppContext) -> list[tuple[str, str, str]]:
    """The faults of all nodes that live as findings of the doctor: id, state and problem."""
    if not ctx.settings.database_url.get_secret_value():
        return []
    now = ctx.clock.now()
    nodes = [node for node in node_rows.list_all(tx) if not node.is_silent(now)]
    texts = [(node.id, "clock", clock_problem(node.clock_ahead)) for node in nodes]
    texts.append(("base_url", "not set", address_problem(ctx.settings, len(nodes) - 1)))
    return [(name, state, text) for name, state, text in texts if text is not None]
