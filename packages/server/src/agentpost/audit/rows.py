"""What operators did. Only `audit.actions` writes here."""

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import Change
from agentpost.record.records import OperatorActionRecord

OPERATOR_ACTIONS = Mapper(OperatorActionRecord, "operator_actions")
_PAGE = (
    f"{OPERATOR_ACTIONS.select} WHERE id < ? AND (? = '' OR who = ?) AND (? = '' OR action LIKE ?)"
    " AND (? = '' OR target = ?) ORDER BY id DESC LIMIT ?"
)


def set_outcome(tx: Tx, action: OperatorActionRecord) -> None:
    """How it ended, with what was stated meanwhile."""
    tx.execute(
        "UPDATE operator_actions SET outcome = ?, target = ?, detail_json = ? WHERE id = ?",
        (action.outcome, action.target, action.detail_json, action.id),
    )


# Another row counts the action.
delete = Change[str]("DELETE FROM operator_actions WHERE id = ?")


def page(
    tx: Tx, before: str, who: str, action: str, target: str, limit: int
) -> list[OperatorActionRecord]:
    """Actions with ids before that one, newest first; "" fits any, ``action`` is a beginning."""
    begins = action.replace("%", "").replace("_", "") + "%"
    filters = (who, who, action, begins, target, target)
    return OPERATOR_ACTIONS.all(tx, _PAGE, (before, *filters, limit))


# The oldest actions; how many went.
delete_old = Change[str, int](
    "DELETE FROM operator_actions WHERE id IN"
    " (SELECT id FROM operator_actions WHERE id < ? ORDER BY id LIMIT ?)"
)
