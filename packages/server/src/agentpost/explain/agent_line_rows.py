"""Lines that the code of turns and jobs printed or logged."""

from collections.abc import Sequence

from agentpost.db.session import Row, Tx
from agentpost.domain import ids
from agentpost.domain.agent_lines import AgentLine
from agentpost.explain.timeline_rows import ALL

_INSERT = "INSERT INTO agent_lines (owner, id, at, call, level, line) VALUES (?, ?, ?, ?, ?, ?)"
_HOLD_JOB = "SELECT id FROM jobs WHERE id = ? /*for update*/"
_HOLD_MESSAGE = "SELECT id FROM messages WHERE id = ? /*for update*/"
_LAST = (
    "SELECT at, call, level, line FROM (SELECT * FROM agent_lines WHERE owner = ? ORDER BY id DESC"
    " LIMIT ?) found ORDER BY id"
)


def hold_owner(tx: Tx, owner: str) -> bool:
    """Keep the row of a turn's message or of a job until the commit; False when it was deleted."""
    sql = _HOLD_MESSAGE if owner.startswith(ids.MESSAGE) else _HOLD_JOB
    return tx.one(sql, (owner,)) is not None


def insert(tx: Tx, owner: str, line_ids: Sequence[str], lines: Sequence[AgentLine]) -> None:
    """Store the lines of one run of a turn or job, each with its id."""
    for line_id, line in zip(line_ids, lines, strict=True):
        tx.execute(_INSERT, (owner, line_id, line.at, line.call, line.level, line.text))


def of_owner(tx: Tx, owner: str, last: int = ALL) -> list[Row]:
    """(at, call or None, level, line) of all runs of a turn or job, oldest first; only the ``last``
    of them."""
    return tx.all(_LAST, (owner, last))
