"""How the rows that a node owns differ from what it runs.

The database compares: only differences are read, however much runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from agentpost.db import as_json
from agentpost.db.session import Tx


@dataclass(frozen=True, slots=True)
class Differences:
    """Epochs by id: of runs whose row the node does not own at that epoch, and of rows it owns that
    have no such run."""

    not_owned: dict[str, int]
    not_run: dict[str, int]


class Comparison(NamedTuple):
    """The statements that compare the rows of one table (`comparison`)."""

    not_owned: str
    how_many: str
    not_run: str
    is_owned: str

    def has(self, tx: Tx, node: str, owner: str, epoch: int) -> bool:
        """Whether ``node`` owns that row at that epoch, and it has to run."""
        return tx.one(self.is_owned, (owner, epoch, node)) is not None

    def differences(self, tx: Tx, node: str, runs: Mapping[str, int]) -> Differences:
        """Compare the rows that ``node`` owns with the epochs of what it runs, by id."""
        pieces = list(as_json.pieces(runs))
        missing = [row[0] for piece in pieces for row in tx.all(self.not_owned, (piece, node))]
        not_owned = {owner: runs[owner] for owner in missing}
        row = tx.one(self.how_many, (node,))
        assert row is not None
        if row[0] == len(runs) - len(not_owned):  # these are all that it owns
            return Differences(not_owned, {})
        rows = tx.all(self.not_run, (node, as_json.join(pieces)))
        return Differences(not_owned, {row[0]: row[1] for row in rows})


def comparison(table: str, *, node: str, epoch: str, executing: str) -> Comparison:
    """The statements for a table.

    Args:
        node, epoch: its columns of that meaning.
        executing: the condition of rows that have to run.
    """
    here = f"{executing} AND {node} = ?"
    ran_at = as_json.NUMBER.format("runs")
    return Comparison(
        f"SELECT runs.key FROM json_each(?) AS runs LEFT JOIN {table} t ON t.id = runs.key"
        f" AND {epoch} = {ran_at} AND {here} WHERE t.id IS NULL",
        f"SELECT COUNT(*) FROM {table} WHERE {here}",
        f"SELECT id, {epoch} FROM {table} WHERE {here}"
        f" AND (id, {epoch}) NOT IN (SELECT runs.key, {ran_at} FROM json_each(?) AS runs)",
        f"SELECT 1 FROM {table} WHERE id = ? AND {epoch} = ? AND {here}",
    )
