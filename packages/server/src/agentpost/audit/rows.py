"""What operators did. Only `audit.actions` writes here."""

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import Change, Save
from agentpost.record.records import OperatorActionRecord

OPERATOR_ACTIONS = Mapper(OperatorActionRecord, "operator_actions")
_PAGE = (
    f"{OPERATOR_ACTIONS.select} WHERE id < ? AND (? = '' OR who = ?) AND (? = '' OR action LIKE ?)"
    " AND (? = '' OR target = ?) ORDER BY id DESC LIMIT ?"
)
# How it ended, with what was stated meanwhile.
set_outcome = Save(OPERATOR_ACTIONS, "outcome", "target", "detail_json")
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
